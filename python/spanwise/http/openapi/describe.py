"""Builds the OpenAPI 3.1.0 document from the route table and the structs that validate requests."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from spanwise.api.otlp import OtlpStatus
from spanwise.api.shared import API_VERSION, WITHOUT_NUL, ErrorBody
from spanwise.http.core.operation import ResponseSpec
from spanwise.http.openapi.factory_inputs import Node, add_inputs, describe_input
from spanwise.http.requests.form import MEDIA_TYPES
from spanwise.http.requests.media_types import JSON, PROTOBUF

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwise.http.core.operation import Operation, Shape
    from spanwise.http.core.route import Route

SCHEME = "HTTPBearer"

Inputs: TypeAlias = "Mapping[str, Mapping[str, Node]]"
"""The input schemas of factories, by kind and id."""

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"{(\w+)}")
_BINARY: Node = {"type": "string", "format": "binary"}
_PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}
"""The names of RFC 9110 for statuses that Python before 3.13 names differently. The document must not depend on the
version of Python."""


def describe(routes: Sequence[Route], title: str, inputs: Inputs | None = None) -> bytes:
    """Returns the OpenAPI document of `routes`, as JSON.

    Args:
        routes: the route table.
        title: the name of the service, for people.
        inputs: the input schemas of factories; None to omit them, as in the public document.
    """
    shapes: dict[Shape, None] = {ErrorBody: None, OtlpStatus: None}
    for route in routes:
        operation = route.operation
        others = [shape for other in operation.other_responses for shape in other.shapes]
        shapes |= dict.fromkeys((*operation.shapes, *others, *filter(None, (operation.query, operation.request))))
    nodes, schemas = msgspec.json.schema_components(shapes, ref_template=_REFERENCE)
    references = dict(zip(shapes, nodes, strict=True))
    paths: dict[str, Node] = {}
    fields = {kind: add_inputs(schemas, kind, of_kind) for kind, of_kind in (inputs or {}).items() if of_kind}
    for route in routes:
        node = paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, references, schemas)
        if route.operation.factory_kind in fields:
            describe_input(node, fields[route.operation.factory_kind])
    queries = {route.operation.query.__name__ for route in routes if route.operation.query}
    return msgspec.json.encode({
        "openapi": "3.1.0",
        "info": {"title": title, "version": API_VERSION},
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in sorted(schemas.items()) if name not in queries},
            "securitySchemes": {SCHEME: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    })  # fmt: skip


def _tag(route: Route) -> str:
    """Returns the tag of a route: its resource."""
    first = route.path.split("/")[1]
    if route.is_public or first == "metrics":
        return "service"
    return "traces" if first in {"v1", "trace_session_stats"} else first


def _operation(route: Route, references: dict[Shape, Node], schemas: dict[str, Node]) -> Node:
    operation = route.operation
    node: Node = {"operationId": operation.id, "summary": operation.summary, "tags": [_tag(route)]}
    if route.need is not None:
        node["description"] = f"Needs the scope `{route.need}`, where authorization is on."
        node["security"] = [{SCHEME: []}]
    query = operation.query
    parameters = [*_path_parameters(route.path), *(_query_parameters(schemas[query.__name__]) if query else [])]
    if parameters:
        node["parameters"] = parameters
    if operation.request is not None:
        media_types = MEDIA_TYPES if route.body == "form" else (JSON,)
        content = {media_type: {"schema": references[operation.request]} for media_type in media_types}
        node["requestBody"] = {"required": route.body != "form" or "runs/" not in route.path, "content": content}
    if operation.is_otlp:
        node["requestBody"] = {"required": True, "content": _otlp({"type": "object"})}
    node["responses"] = _responses(operation, references) | {
        str(status): _error_response(status, route, references) for status in sorted(_error_statuses(route))
    }
    return node


def _path_parameters(path: str) -> list[Node]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": WITHOUT_NUL}}
        for name in _PARAMETER.findall(path)
    ]


def _query_parameters(shape: Node) -> list[Node]:
    return [
        {
            "name": name,
            "in": "query",
            "required": name in shape.get("required", ()),
            "description": schema.get("description", ""),
            "schema": {key: value for key, value in schema.items() if key != "description"},
        }
        for name, schema in shape["properties"].items()
    ]


def _responses(operation: Operation, references: dict[Shape, Node]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    first = ResponseSpec(operation.success, operation.shapes, operation.media_type)
    for response in (first, *operation.other_responses):
        is_redirect = response.status == HTTPStatus.TEMPORARY_REDIRECT
        description = HTTPStatus.TEMPORARY_REDIRECT.phrase if is_redirect else "Successful response"
        node = found.setdefault(str(response.status), {"description": f"{description}."})
        if response.status != HTTPStatus.NO_CONTENT and not is_redirect:
            shapes = [references[shape] for shape in response.shapes]
            schema = {"anyOf": shapes} if len(shapes) > 1 else shapes[0] if shapes else {}
            content = _otlp(schema) if operation.is_otlp else {response.media_type: {"schema": schema}}
            node.setdefault("content", {}).update(content)
    return found


def _error_response(status: int, route: Route, references: dict[Shape, Node]) -> Node:
    content = {JSON: {"schema": references[ErrorBody]}}
    if route.operation.is_otlp:
        # A request that is neither JSON nor protobuf has no OTLP encoding for the response.
        content = _otlp({"anyOf": [references[OtlpStatus], references[ErrorBody]]})
    return {"description": _PHRASES.get(status) or HTTPStatus(status).phrase, "content": content}


def _otlp(schema: Node) -> Node:
    return {JSON: {"schema": schema}, PROTOBUF: {"schema": _BINARY}}


def _error_statuses(route: Route) -> set[int]:
    """Returns the error statuses of a route. Each follows from a property of the route."""
    statuses = {500}
    if route.need is not None:
        statuses |= {401, 403}
    if route.body is not None:
        statuses |= {400, 408, 413, 415}
    if route.operation.concerns_runs:
        statuses |= {400, 404, 409, 422, 503}
    if route.operation.reads_runs:
        statuses |= {413}
    if route.operation.query is not None:
        statuses |= {404, 422, 503}
        statuses |= {400} if "filter" in route.operation.query.__struct_fields__ else set()
    if route.operation.request is not None:
        statuses |= {422}
    return statuses
