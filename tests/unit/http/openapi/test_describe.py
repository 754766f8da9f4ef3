"""The OpenAPI document agrees with the route table and the structs that validate requests."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from spanwise.factories.schema import json_schema
from spanwise.http.openapi.describe import describe
from spanwise.http.routing.table import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.http.core.route import Route

DOCUMENT: dict[str, Any] = json.loads(describe(TABLE, "Ours"))
SCHEMAS = DOCUMENT["components"]["schemas"]


def name_of(row: Route) -> str:
    return f"{row.method} {row.path}"


def operation(row: Route) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][row.path][row.method.lower()]
    return found


def values(document: object) -> Iterator[tuple[str, object]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield key, value
            yield from values(value)
    elif isinstance(document, list):
        for value in document:
            yield from values(value)


def test_it_is_openapi_of_the_api_that_clients_know() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"] == {"title": "Ours", "version": "2.7.2"}
    assert DOCUMENT["components"]["securitySchemes"] == {
        "HTTPBearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    }


def test_it_has_every_route_and_no_other() -> None:
    described = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert described == {(row.method, row.path) for row in TABLE}
    ids = [operation(row)["operationId"] for row in TABLE]
    assert len(set(ids)) == len(ids)
    assert DOCUMENT["paths"]["/traces/search"]["post"]["operationId"] == "search_traces"


@pytest.mark.parametrize("row", TABLE, ids=name_of)
def test_an_operation_documents_its_scopes_and_errors(row: Route) -> None:
    documented = operation(row)
    assert documented["summary"]
    assert ("security" in documented) != row.is_public
    assert ({"401", "403"} <= documented["responses"].keys()) != row.is_public
    assert ("requestBody" in documented) == (row.body is not None)
    assert {str(row.operation.success), "500"} <= documented["responses"].keys()
    parameters = {parameter["name"] for parameter in documented.get("parameters", [])}
    assert set(re.findall(r"{(\w+)}", row.path)) <= parameters
    assert all(parameter["description"] for parameter in documented.get("parameters", []) if parameter["in"] == "query")


def test_a_response_of_runs_lists_every_kind() -> None:
    created = DOCUMENT["paths"]["/agents/{component_id}/runs"]["post"]["responses"]
    assert created["200"]["content"].keys() == {"application/json", "text/event-stream"}
    assert created["202"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Begun"}
    assert "content" not in DOCUMENT["paths"]["/sessions/{session_id}"]["delete"]["responses"]["204"]
    listed = DOCUMENT["paths"]["/workflows/{component_id}/runs"]["get"]
    assert {parameter["name"]: parameter["required"] for parameter in listed["parameters"]} == {
        "component_id": True,
        "session_id": True,
        "user_id": False,
        "status": False,
        "factory_input": False,
    }


class Leaf(Struct):
    color: str


class Branch(Struct):
    leaves: list[Leaf]
    extra: "dict[str, Leaf]"


class Tree(Struct):
    branches: "list[Tree]" = []


INPUTS = {
    "agent": {"a b": json_schema(Branch), "a_b": json_schema(Leaf)},
    "team": {"tree": json_schema(Tree)},
    "workflow": {"steps": {"properties": {"#": {"$ref": "#/$defs/It"}}, "$defs": {"It": {"$ref": "#/$defs/It"}}}},
}


def resolved(document: Any, reference: str) -> Any:
    for part in reference.removeprefix("#/").split("/"):
        document = document[part]
    return document


def test_factory_inputs_are_described_in_their_operations() -> None:
    document = json.loads(describe(TABLE, "Ours", INPUTS))
    references = [str(value) for key, value in values(document) if key == "$ref"]
    assert all(isinstance(resolved(document, reference), dict) for reference in references)
    added = document["components"]["schemas"].keys() - SCHEMAS.keys()
    assert added == {"agent.a_b.input", "agent.a_b.input_", "team.tree.input", "workflow.steps.input"}

    def offered(path: str, method: str) -> list[str]:
        documented = [value for key, value in values(document["paths"][path][method]) if key == "contentSchema"]
        assert all(documented[0] == each for each in documented)
        return [each["title"] for each in documented[0]["anyOf"]] if documented else []  # type: ignore[index]

    assert offered("/agents/{component_id}/runs", "post") == ["a b", "a_b"]
    assert offered("/agents/{component_id}/runs/{run_id}/continue", "post") == []
    assert offered("/agents/{component_id}/runs/{run_id}", "get") == []
    assert offered("/teams/{component_id}/runs", "post") == ["tree"]
    for path, method in (("", "post"), ("", "get"), ("/{run_id}", "get"), ("/{run_id}/continue", "post")):
        assert offered(f"/workflows/{{component_id}}/runs{path}", method) == ["steps"]
    assert json.loads(describe(TABLE, "Ours", {})) == DOCUMENT
    for schema in (each for of_kind in INPUTS.values() for each in of_kind.values()):
        assert all(isinstance(resolved(schema, str(value)), dict) for key, value in values(schema) if key == "$ref")
    assert INPUTS["workflow"]["steps"]["$defs"] == {"It": {"$ref": "#/$defs/It"}}


def test_every_reference_leads_somewhere_and_every_model_is_used() -> None:
    references = {str(value).rpartition("/")[2] for key, value in values(DOCUMENT) if key == "$ref"}
    assert references == SCHEMAS.keys()


@pytest.mark.parametrize("model", sorted(SCHEMAS))
def test_a_model_and_its_fields_are_described(model: str) -> None:
    assert SCHEMAS[model].get("description")
    for name, field in SCHEMAS[model].get("properties", {}).items():
        assert field.get("description") or "$ref" in field or name in PLAIN, f"{model}.{name}"


PLAIN = {
    *("data", "fields", "logical_operators", "key", "label", "type", "operators", "values"),
    *("status", "agent_count", "team_count", "workflow_count", "enabled", "path", "oauth"),
    *("partialSuccess",),
}
"""Fields that need no description of their own."""


def test_the_bounds_are_the_documented_ones() -> None:
    body = SCHEMAS["SearchRequest"]["properties"]
    assert (body["page"]["minimum"], body["page"]["default"]) == (1, 1)
    assert (body["limit"]["minimum"], body["limit"]["maximum"], body["limit"]["default"]) == (1, 100, 20)
    assert SCHEMAS["GroupBy"]["enum"] == ["run", "session"]
    assert SCHEMAS["SearchRequest"]["required"] == []
    meta = SCHEMAS["PaginationInfo"]["properties"]
    assert {name: field["minimum"] for name, field in meta.items() if "minimum" in field} == {
        "page": 0,
        "limit": 1,
        "total_pages": 0,
        "total_count": 0,
        "search_time_ms": 0,
    }
    assert SCHEMAS["ErrorBody"]["required"] == ["detail", "error_code"]
    assert {"tree", "trace_id", "created_at"} <= set(SCHEMAS["TraceDetail"]["required"])
    assert not {"input", "output", "error", "user_id"} & set(SCHEMAS["TraceDetail"]["required"])
    assert SCHEMAS["TraceNode"]["properties"]["start_time"]["format"] == "date-time"
