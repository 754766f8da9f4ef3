"""The API reference lists every route with its scope, and the API description explains every member."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.http.openapi.describe import describe
from spanwise.http.routing.table import TABLE
from support.paths import ROOT

if TYPE_CHECKING:
    from spanwise.http.core.route import Route

PAGE = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
DOCUMENT: dict[str, Any] = json.loads(describe(TABLE, "Spanwise"))
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
OPERATIONS = [operation for operations in DOCUMENT["paths"].values() for operation in operations.values()]


def as_written(text: str) -> str:
    """Returns a path or scope as the page writes it, once for agents, teams and workflows."""
    return re.sub(r"(?<![a-z_])(agent|team|workflow)s(?=[/:]|$)", "{kind}s", text)


def is_described(shape: dict[str, Any]) -> bool:
    """Returns True if a member or its type has a description."""
    types = [shape, shape.get("items", {}), shape.get("additionalProperties") or {}, *shape.get("anyOf", ())]
    names = [each["$ref"].rpartition("/")[2] for each in types if isinstance(each, dict) and "$ref" in each]
    return bool(shape.get("description")) or any(SCHEMAS[name].get("description") for name in names)


@pytest.mark.parametrize("route", TABLE, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_stands_in_the_table_with_its_scope(route: Route) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{route.method} {as_written(route.path)}` |")]
    assert rows
    need = "public" if route.is_public else " or ".join(f"`{as_written(each)}`" for each in str(route.need).split(", "))
    assert {row.split(" | ")[1] for row in rows} == {need}


def test_the_table_has_no_other_route() -> None:
    routes = {f"{route.method} {as_written(route.path)}" for route in TABLE}
    assert set(re.findall(r"^\| `([A-Z]+ /[^`]*)` \|", PAGE, re.MULTILINE)) == routes


def test_every_member_is_described() -> None:
    missing = {
        name: [member for member, shape in schema.get("properties", {}).items() if not is_described(shape)]
        for name, schema in SCHEMAS.items()
    }
    assert {name: members for name, members in missing.items() if members} == {}


def test_every_parameter_of_a_query_is_described() -> None:
    parameters = [each for operation in OPERATIONS for each in operation.get("parameters", ()) if each["in"] == "query"]
    assert parameters
    assert [each["name"] for each in parameters if not each["description"]] == []
