from __future__ import annotations

import json
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, Service, _engine
from spanwise.settings import NO_SETTINGS, TABLE
from support.apps.scripted_model import ScriptedModel
from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
GUIDES = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs" / "contributing").glob("*.md"))]
RUNS = (ROOT / "docs" / "runs.md").read_text("utf-8")
SEARCH = (ROOT / "docs" / "search.md").read_text("utf-8")


def filters_of(text: str) -> list[str]:
    """Returns the filters in the code of a page, inline or in a block, but not shapes such as `{"op", "key"}`.

    A condition of a span search is returned as the `SPAN` expression that it means.
    """
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    inline = re.findall(r"`(\{\"op\": [^`]*\})`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    requests = re.findall(r"(?:(/spans/search) -H \S+ \S+ )?-d '(\{.*?\})'", text, re.DOTALL)
    asked = [(json.loads(request).get("filter"), of_spans) for of_spans, request in requests]
    filters = [json.dumps({"op": "SPAN", "where": asks} if of_spans else asks) for asks, of_spans in asked]
    return [source for source in (*blocks, *inline, *filters) if '"op"' in source]


def test_the_search_page_contains_filters() -> None:
    assert len(filters_of(SEARCH)) >= 4


@pytest.mark.parametrize("source", [text for path in PAGES for text in filters_of(path.read_text("utf-8"))])
def test_a_filter_in_the_documentation_compiles(source: str) -> None:
    assert Filter.compile(source.encode()).canonical() != b"null"


def test_every_field_and_operator_is_documented() -> None:
    schema = json.loads(_engine.filter_schema())
    words = {field["key"] for field in schema["fields"]}
    words |= {operator for field in schema["fields"] for operator in field["operators"]}
    words |= set(schema["logical_operators"]) | {"NOT"}
    assert {word for word in words if f"`{word}`" not in SEARCH} == set()


@pytest.mark.parametrize("path", [*PAGES, *GUIDES], ids=lambda path: path.name)
def test_a_link_leads_to_a_file(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_a_path_in_a_guide_exists(path: Path) -> None:
    code = re.findall(r"`((?:benches|docs|python|rust|tests|ui/src)/[^` ]*)`", path.read_text("utf-8"))
    assert [name for name in code if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_documented_variable_is_a_setting(path: Path) -> None:
    named = set(re.findall(r"\bSPANWISE_[A-Z_]+", path.read_text("utf-8")))
    assert named <= {setting.variable for setting in TABLE.values()} | NO_SETTINGS


@pytest.mark.parametrize(
    "source", re.findall(r"```python\n(.*?)```", RUNS, re.DOTALL), ids=["first", "spanwise", "agno", "pydantic-ai"]
)
def test_a_documented_service_can_be_hosted(source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    vendors = ModuleType("agno.models.openai")
    vars(vendors)["OpenAIChat"] = ScriptedModel  # the real model needs the vendor's library
    monkeypatch.setitem(sys.modules, "agno.models.openai", vendors)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(source, names)  # noqa: S102  # a reader runs it too
    assert isinstance(names["service"], Service)
