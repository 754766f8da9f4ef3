from __future__ import annotations

import json
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, Service, _engine
from spanwise.settings import TABLE
from support.apps.scripted_model import ScriptedModel
from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HOUSE = ROOT
PROSE = [HOUSE / "README.md", *sorted((HOUSE / "docs").glob("*.md"))]
RUNS = (HOUSE / "docs" / "runs.md").read_text("utf-8")
SEARCH = (HOUSE / "docs" / "search.md").read_text("utf-8")


def filters_of(prose: str) -> list[str]:
    """Returns the filters that stand in code, inline or in a block; shapes such as `{"op", "key"}` are none."""
    blocks = re.findall(r"```json\n(.*?)```", prose, re.DOTALL)
    inline = re.findall(r"`(\{\"op\": [^`]*\})`", re.sub(r"```.*?```", "", prose, flags=re.DOTALL))
    requests = re.findall(r"-d '(\{.*?\})'", prose, re.DOTALL)
    asked = [json.dumps(json.loads(request).get("filter")) for request in requests]
    return [text for text in (*blocks, *inline, *asked) if '"op"' in text]


def test_the_prose_holds_filters() -> None:
    assert len(filters_of(SEARCH)) >= 4


@pytest.mark.parametrize("source", [text for path in PROSE for text in filters_of(path.read_text("utf-8"))])
def test_a_filter_in_the_prose_compiles(source: str) -> None:
    assert Filter.compile(source.encode()).canonical() != b"null"


def test_every_field_and_operator_is_in_the_prose() -> None:
    schema = json.loads(_engine.filter_schema())
    words = {field["key"] for field in schema["fields"]}
    words |= {operator for field in schema["fields"] for operator in field["operators"]}
    words |= set(schema["logical_operators"]) | {"NOT"}
    assert {word for word in words if f"`{word}`" not in SEARCH} == set()


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_a_link_in_the_prose_leads_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_a_variable_in_the_prose_is_a_setting(path: Path) -> None:
    named = set(re.findall(r"\bSPANWISE_[A-Z_]+", path.read_text("utf-8")))
    assert named <= {setting.variable for setting in TABLE.values()} | {"SPANWISE_CONFIG"}


@pytest.mark.parametrize(
    "source", re.findall(r"```python\n(.*?)```", RUNS, re.DOTALL), ids=["ours", "agno", "pydantic-ai"]
)
def test_a_service_in_the_prose_about_runs_can_be_hosted(
    source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    vendors = ModuleType("agno.models.openai")
    vars(vendors)["OpenAIChat"] = ScriptedModel  # that of the vendor needs its own library
    monkeypatch.setitem(sys.modules, "agno.models.openai", vendors)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(source, names)  # noqa: S102  # what a reader would run
    assert isinstance(names["service"], Service)
