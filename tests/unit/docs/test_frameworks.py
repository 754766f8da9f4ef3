"""Replays the exports of frameworks (`tests/frameworks`) and compares the facts with the expected ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from frameworks.harness.facts import failures, gaps, replayed, spans_of
from frameworks.harness.framework import FRAMEWORKS, names, read, read_index, script_of
from frameworks.harness.page import NOT_SENT, PAGE, marks, page
from frameworks.harness.sent import spans_sent

if TYPE_CHECKING:
    from frameworks.harness.framework import Case

CASES = [pytest.param(name, case, id=f"{name}-{case.name}") for name in names() for case in read(name).cases]
LARGEST_FOLDER = 200_000
KINDS = {
    "openinference.span.kind",
    "gen_ai.operation.name",
    "traceloop.span.kind",
    "langfuse.observation.type",
    "ai.operationId",
}
CONTENT = {
    "input": ("input.value", "gen_ai.input.messages", "langfuse.observation.input", "traceloop.entity.input"),
    "output": ("output.value", "gen_ai.output.messages", "langfuse.observation.output", "traceloop.entity.output"),
}
SENT_AS = {
    "cached_tokens": {
        "llm.token_count.prompt_details.cache_read",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "ai.usage.cachedInputTokens",
    },
    "session_id": {"session.id", "gen_ai.conversation.id", "langfuse.session.id"},
    "user_id": {"user.id", "enduser.id", "langfuse.user.id"},
    "tool_name": {"tool.name", "gen_ai.tool.name", "ai.toolCall.name"},
}
"""Facts, and the attributes that carry them. A fact whose attribute is sent must be stated."""
AGENTS = {"gen_ai.agent.name", "gen_ai.agent.id", "agent.name", "agno.agent.id"}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_fact_is_read_but_the_known_gaps(name: str, case: Case) -> None:
    found = failures(case, replayed(name, case))
    known = gaps(read(name), case)
    assert {place: message for place, message in found.items() if place not in known} == {}
    assert known - set(found) == set(), "these are no gaps any more: take them out of `missing`"


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_span_whose_kind_is_sent_has_a_type_and_one_with_content_shows_it(name: str, case: Case) -> None:
    nodes = {span["id"]: span for trace in replayed(name, case) for span in spans_of(trace)}
    sent = spans_sent(name, case)
    assert nodes.keys() == sent.keys()
    for span_id, attributes in sent.items():
        node = nodes[span_id]
        assert node["type"] != "UNKNOWN" or not attributes.keys() & KINDS, node["name"]
        for side, keys in CONTENT.items():
            assert side in node or not any(attributes.get(key) for key in keys), f"{node['name']} has no {side}"


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_case_whose_spans_name_an_agent_has_one(name: str, case: Case) -> None:
    agents = {attributes[key] for attributes in spans_sent(name, case).values() for key in AGENTS & attributes.keys()}
    traces = replayed(name, case)
    if agents and not gaps(read(name), case):
        assert any(trace.keys() & {"agent_id", "team_id", "workflow_id"} for trace in traces), agents


@pytest.mark.parametrize("name", names())
def test_a_dash_of_the_matrix_means_that_nothing_is_sent(name: str) -> None:
    sent = [attributes for case in read(name).cases for attributes in spans_sent(name, case).values()]
    found = marks(name)
    for column, keys in SENT_AS.items():
        # A model call may name the tool that it requests, which its output shows.
        spans = [span for span in sent if column != "tool_name" or span.get("gen_ai.operation.name") != "chat"]
        values = {str(attributes[key]) for attributes in spans for key in keys & attributes.keys()} - {"", "0"}
        assert found[column] != NOT_SENT or not values, f"{column} is sent: {values}"


@pytest.mark.parametrize("name", names())
def test_the_files_of_a_framework_agree(name: str) -> None:
    framework, index, folder = read(name), read_index(name), FRAMEWORKS / name / "exports"
    cases = {case.name for case in framework.cases}
    assert {file.case for file in index.files} == cases, "every case is captured"
    assert {file.file for file in index.files} | {"index.json"} == {path.name for path in folder.iterdir()}
    assert sum(path.stat().st_size for path in (FRAMEWORKS / name).rglob("*")) < LARGEST_FOLDER
    assert script_of(name, framework).exists()
    assert {place.split("/")[0] for place in framework.missing} <= cases


def test_titles_are_unique() -> None:
    titles = [read(name).title for name in names()]
    assert len(set(titles)) == len(titles), titles


def test_the_page_is_what_the_captures_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m frameworks.harness page`"
