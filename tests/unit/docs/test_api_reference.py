"""The reference of the API names every route, parameter and member that the service has."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from spanwise.http.openapi.describe import describe
from spanwise.http.routing.table import TABLE
from support.paths import ROOT

PAGES = ("api.md", "filter.md", "traces.md")
PROSE = "\n".join((ROOT / "docs" / "reference" / page).read_text("utf-8") for page in PAGES)
WORDS = {
    word
    for line in re.sub(r"^```.*?^```", "", PROSE, flags=re.DOTALL | re.MULTILINE).splitlines()
    for code in re.findall(r"``.+?``|`[^`]+`", line)
    for word in re.findall(r"\w+", code)
}
WORDS |= {f"{kind}_{part}" for kind in ("agent", "team", "workflow") for part in ("id", "name")}
DOCUMENT: dict[str, Any] = json.loads(describe(TABLE, "Spanwise"))
OPERATIONS = [
    (f"{method.upper()} {path}", operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]


def as_written(text: str) -> str:
    """Returns a path or operation id as the page has it, once for agents, teams and workflows."""
    return re.sub(r"(?<=[/_])(agent|team|workflow)(?=s|_|$)(?!_session)", "{kind}", text, count=1)


@pytest.mark.parametrize(("route", "operation"), OPERATIONS, ids=[route for route, _ in OPERATIONS])
def test_a_route_stands_in_the_table(route: str, operation: dict[str, Any]) -> None:
    rows = [line for line in PROSE.splitlines() if line.startswith(f"| `{as_written(route)}` |")]
    assert any(f"`{as_written(operation['operationId'])}`" in row for row in rows), rows
    assert {each["name"] for each in operation.get("parameters", ())} <= WORDS


def test_every_member_is_described() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    missing = {name: set(schema.get("properties", ())) - WORDS for name, schema in schemas.items()}
    assert {name: members for name, members in missing.items() if members} == {}
