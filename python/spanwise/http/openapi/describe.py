"""The service described as OpenAPI 3.1.0: from the route table, and from the structs that validate.

Source: OpenAPI Specification 3.1.0; JSON Schema 2020-12.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Struct
from starlette.responses import Response

from spanwise.http.openapi.factory_inputs import add_inputs, say_input
from spanwise.http.requests.form import MEDIA_TYPES
from spanwise.models import API_VERSION, WITHOUT_NUL, ErrorBody, OtlpStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request

    from spanwise.http.backend import Backend
    from spanwise.http.routing.table import Row

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
SCHEME = "HTTPBearer"

Node = dict[str, Any]
"""An object of the document."""

Shape: TypeAlias = Any
"""A struct, or a list of structs."""

Inputs: TypeAlias = "Mapping[str, Mapping[str, Node]]"
"""The schemas of what factories take, by kind and id."""

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"{(\w+)}")
_BINARY: Node = {"type": "string", "format": "binary"}


class Answer(Struct, frozen=True):
    """Another answer of a route, beside the one that most callers get.

    Attributes:
        status: its status.
        shapes: what it is, one of these; nothing if it is no JSON that we describe.
        media_type: how it is written.
    """

    status: int
    shapes: tuple[Shape, ...] = ()
    media_type: str = JSON


class Operation(Struct, frozen=True):
    """What is said about a route.

    Attributes:
        id: its name for programs.
        summary: what it does, for people.
        answers: what an answer is, one of these; nothing if it is no JSON that we describe.
        media_type: how an answer is written.
        others: other answers than that one.
        query: what its query says.
        request: what its body is.
        input_of: the kind of factory whose input it takes.
        is_otlp: whether body and answer are OTLP, JSON or protobuf.
        is_of_runs: whether it reads or changes what is hosted, its runs or sessions.
        success: the status of its answer.
    """

    id: str
    summary: str
    answers: tuple[Shape, ...] = ()
    media_type: str = JSON
    others: tuple[Answer, ...] = ()
    query: type[Struct] | None = None
    request: type[Struct] | None = None
    input_of: str | None = None
    is_otlp: bool = False
    is_of_runs: bool = False
    success: int = 200


async def document(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /openapi.json`. What factories take is for callers that we know."""
    is_known = await backend.admission.knows(request)
    return Response(backend.description if is_known else backend.public_description, media_type=JSON)


def describe(rows: Sequence[Row], title: str, inputs: Inputs | None = None) -> bytes:
    """Returns the document that describes `rows`, as JSON.

    Args:
        rows: the route table.
        title: the name of the service, for people.
        inputs: what factories take; left out of the page that everybody may read.
    """
    shapes: dict[Shape, None] = {ErrorBody: None, OtlpStatus: None}
    for row in rows:
        said = row.operation
        others = [shape for other in said.others for shape in other.shapes]
        shapes |= dict.fromkeys((*said.answers, *others, *filter(None, (said.query, said.request))))
    references, schemas = msgspec.json.schema_components(shapes, ref_template=_REFERENCE)
    described = dict(zip(shapes, references, strict=True))
    paths: dict[str, Node] = {}
    taken = {kind: add_inputs(schemas, kind, of_kind) for kind, of_kind in (inputs or {}).items() if of_kind}
    for row in rows:
        written = paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, described, schemas)
        if row.operation.input_of in taken:
            say_input(written, taken[row.operation.input_of])
    queries = {row.operation.query.__name__ for row in rows if row.operation.query}
    return msgspec.json.encode({
        "openapi": "3.1.0",
        "info": {"title": title, "version": API_VERSION},
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in sorted(schemas.items()) if name not in queries},
            "securitySchemes": {SCHEME: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    })  # fmt: skip


def _tag(row: Row) -> str:
    """Returns what a route is listed under: its resource; whatever is about traces is under traces."""
    first = row.path.split("/")[1]
    if row.is_public or first == "metrics":
        return "service"
    return "traces" if first in {"v1", "trace_session_stats"} else first


def _operation(row: Row, described: dict[Shape, Node], schemas: dict[str, Node]) -> Node:
    said = row.operation
    written: Node = {"operationId": said.id, "summary": said.summary, "tags": [_tag(row)]}
    if row.need is not None:
        written["description"] = f"Needs the scope `{row.need}`, where authorization is on."
        written["security"] = [{SCHEME: []}]
    parameters = [*_path_parameters(row.path), *(_query_parameters(schemas[said.query.__name__]) if said.query else [])]
    if parameters:
        written["parameters"] = parameters
    if said.request is not None:
        media_types = MEDIA_TYPES if row.body == "form" else (JSON,)
        content = {media_type: {"schema": described[said.request]} for media_type in media_types}
        written["requestBody"] = {"required": row.body != "form" or "runs/" not in row.path, "content": content}
    if said.is_otlp:
        written["requestBody"] = {"required": True, "content": _otlp({"type": "object"})}
    written["responses"] = _answers(said, described) | {
        str(status): _refusal(status, row, described) for status in sorted(_statuses(row))
    }
    return written


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


def _answers(said: Operation, described: dict[Shape, Node]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for answer in (Answer(said.success, said.answers, said.media_type), *said.others):
        written = found.setdefault(str(answer.status), {"description": "What was asked for."})
        if answer.status != HTTPStatus.NO_CONTENT:
            shapes = [described[shape] for shape in answer.shapes]
            schema = {"anyOf": shapes} if len(shapes) > 1 else shapes[0] if shapes else {}
            content = _otlp(schema) if said.is_otlp else {answer.media_type: {"schema": schema}}
            written.setdefault("content", {}).update(content)
    return found


def _refusal(status: int, row: Row, described: dict[Shape, Node]) -> Node:
    content = {JSON: {"schema": described[ErrorBody]}}
    if row.operation.is_otlp:
        # What is neither JSON nor protobuf cannot be answered in its own encoding.
        content = _otlp({"anyOf": [described[OtlpStatus], described[ErrorBody]]})
    return {"description": HTTPStatus(status).phrase, "content": content}


def _otlp(schema: Node) -> Node:
    return {JSON: {"schema": schema}, PROTOBUF: {"schema": _BINARY}}


def _statuses(row: Row) -> set[int]:
    """Returns the statuses of refusals: each comes from something that the row has."""
    statuses = {500}
    if row.need is not None:
        statuses |= {401, 403}
    if row.body is not None:
        statuses |= {400, 408, 413, 415}
    if row.operation.is_of_runs:
        statuses |= {400, 404, 409, 422, 503}
    if row.operation.query is not None:
        statuses |= {404, 422, 503}
        statuses |= {400} if "filter" in row.operation.query.__struct_fields__ else set()
    if row.operation.request is not None:
        statuses |= {422}
    return statuses
