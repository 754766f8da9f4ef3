"""Every example query of `docs/search.md` about texts and tools finds exactly the trace that is made for it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from support.paths import ROOT
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

START = 1_780_000_000_000_000_000
MILLISECOND = 1_000_000
PAGE = (ROOT / "docs" / "search.md").read_text("utf-8")
(SECTION,) = [part for part in PAGE.split("\n## ") if part.startswith("Texts and spans")]
QUESTIONS = dict(re.findall(r"\| ([^|`]+\?) \| `(\{.*\})` \|", SECTION))

Span = dict[str, Any]


def span(kind: str, name: str, place: tuple[int, int, int, int | None], **attributes: object) -> Span:
    """Returns a span from its id, the id of its parent (0 for a root), its start and its end in milliseconds."""
    span_id, parent, start, end = place
    attributes = {"openinference.span.kind": kind, **attributes}
    made: Span = {
        "spanId": f"{span_id:016x}",
        "name": name,
        "startTimeUnixNano": str(START + start * MILLISECOND),
        "endTimeUnixNano": "0" if end is None else str(START + end * MILLISECOND),
        "attributes": [{"key": key.replace("__", "."), "value": otlp(value)} for key, value in attributes.items()],
    }
    return made | ({"parentSpanId": f"{parent:016x}"} if parent else {})


def otlp(value: object) -> dict[str, Any]:
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def failed(made: Span, message: str) -> Span:
    return made | {"status": {"code": 2, "message": message}}


def tool(name: str, place: tuple[int, int, int, int | None], **attributes: object) -> Span:
    return span("TOOL", f"call {name}", place, tool__name=name, **attributes)


def model(place: tuple[int, int, int, int | None], **attributes: object) -> Span:
    return span("LLM", "chat", place, **attributes)


RUN = (1, 0, 0, 100)
MADE: dict[str, list[Span]] = {
    "said": [span("AGENT", "Shop.run", RUN, input__value="Please REFUND me twice!"), tool("look", (2, 1, 1, 2))],
    "timeout": [failed(span("AGENT", "Shop.run", RUN), "read timeout after 30 s"), tool("look", (2, 1, 1, 2))],
    "five": [span("AGENT", "Shop.run", RUN)]
    + [tool("search", (number, 1, number, number + 1)) for number in range(2, 7)]
    + [model((9, 1, 90, 95))],
    "expensive": [
        span("AGENT", "Shop.run", RUN),
        tool("look", (3, 1, 1, 2)),
        model((2, 1, 5, 9), llm__token_count__prompt=4001),
    ],
    "retried": [
        span("AGENT", "Shop.run", RUN),
        failed(tool("look", (2, 1, 1, 5)), "no network"),
        failed(span("AGENT", "inner", (4, 2, 2, 3)), "no network"),
        model((3, 1, 5, 9)),
    ],
    "unapproved": [
        span("AGENT", "Shop.run", RUN),
        tool("approve", (2, 1, 9, 10)),
        tool("refund", (3, 1, 1, 5)),
        model((4, 1, 20, 30)),
    ],
    "approved": [
        span("AGENT", "Shop.run", RUN),
        tool("approve", (2, 1, 1, 2)),
        tool("refund", (3, 1, 3, 5)),
        model((4, 1, 20, 30)),
    ],
    "cascade": [span("AGENT", "Shop.run", RUN), failed(tool("look", (2, 1, 50, 60)), "no network")],
    "supported": [
        span("AGENT", "Support.run", RUN),
        span("CHAIN", "step", (2, 1, 1, 9)),
        model((4, 1, 10, 11)),
        tool("approve", (5, 2, 1, 2)),
        tool("refund", (3, 2, 2, 3)),
    ],
    "unanswered": [span("AGENT", "Shop.run", RUN), model((2, 1, 1, 2)), tool("look", (3, 1, 2, 3))],
    "running": [span("AGENT", "Shop.run", (1, 0, 0, None)), tool("look", (2, 1, 1, 2)), model((3, 1, 3, 4))],
    "no tool": [span("AGENT", "Shop.run", RUN), model((2, 1, 1, 2))],
    "hot": [
        span("AGENT", "Shop.run", RUN),
        tool("look", (3, 1, 1, 2)),
        model((2, 1, 3, 4), gen_ai__request__temperature=1.5),
    ],
    "elsewhere": [span("AGENT", "Shop.run", RUN), tool("look", (2, 1, 1, 2)), model((3, 1, 3, 4))],
    "looping": [span("AGENT", "Shop.run", RUN)]
    + [tool("look", (number, 1, number, number + 1), input__value='{"id": 7}') for number in range(2, 5)]
    + [tool("look", (5, 1, 5, 6), input__value='{"id": 8}'), model((6, 1, 90, 95))],
    "costly": [
        span("AGENT", "Shop.run", RUN),
        tool("look", (2, 1, 1, 2)),
        model((3, 1, 3, 4), llm__cost__total=0.75),
    ],
}
EXPECTED = {
    'which user wrote "refund me twice"?': {"said"},
    'which failures say "timeout"?': {"timeout"},
    "which runs called the search tool five times or more?": {"five"},
    "which LLM calls took more than 4,000 tokens?": {"expensive"},
    "where did a tool fail before another model call?": {"retried"},
    "which runs called the same tool with the same arguments, three times?": {"looping"},
    "which refunds came without an earlier approval?": {"unapproved"},
    "where does a chain of errors begin in a tool?": {"cascade"},
    "which agent called this tool?": {"supported"},
    "which runs ended with no model call after their last tool?": {"said", "timeout", "cascade", "unanswered"},
    "which spans are still running?": {"running"},
    "which runs called no tool?": {"no tool"},
    "which calls had a temperature above 1?": {"hot"},
    "which runs cost more than half a dollar?": {"costly"},
    "which runs came from one host?": {"elsewhere"},
}


def trace_id(name: str) -> str:
    return f"{list(MADE).index(name) + 1:032x}"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("said") / "data") as service:
        for name, spans in MADE.items():
            host = {"key": "host.name", "value": {"stringValue": "worker-7" if name == "elsewhere" else "worker-1"}}
            scope = {"spans": [{"traceId": trace_id(name), **made} for made in spans]}
            body = {"resourceSpans": [{"resource": {"attributes": [host]}, "scopeSpans": [scope]}]}
            service.http.post("/v1/traces", json=body).raise_for_status()
        yield service


def test_every_question_has_an_answer_here() -> None:
    assert QUESTIONS.keys() == EXPECTED.keys()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_what_it_asks_for(service: RunningService, question: str) -> None:
    condition = json.loads(QUESTIONS[question])
    expected = {trace_id(name) for name in EXPECTED[question]}
    assert set(service.trace_ids(filter=condition)) == expected
    others = set(service.trace_ids(filter={"op": "NOT", "condition": condition}))
    assert not others & expected
    counted = service.http.post("/traces/facets", json={"filter": condition, "fields": ["status"]})
    assert counted.raise_for_status().json()["meta"]["matched"] == len(expected)


def test_a_search_may_end_once_its_page_is_full(service: RunningService) -> None:
    condition = {"op": "SPAN", "where": {"op": "EQ", "key": "type", "value": "TOOL"}}
    whole = service.search(filter=condition, limit=3).json()
    ended = service.search(filter=condition, limit=3, total="at_least").json()
    assert ended["data"] == whole["data"]
    # One more than on the page, even though more documents were checked together.
    assert (ended["meta"]["total_count"], ended["meta"]["total_is"]) == (4, "at_least")
    assert whole["meta"]["total_count"] == len(MADE) - 1
    last = service.search(filter=condition, limit=3, page=5, total="at_least").json()
    assert (last["meta"]["total_count"], last["meta"]["total_is"]) == (len(MADE) - 1, "exact")
    assert "total_is" not in whole["meta"]


def matches_of(service: RunningService, condition: dict[str, Any], **body: object) -> dict[str, Any]:
    items = service.search(filter=condition, matches=True, **body).raise_for_status().json()["data"]
    return {item["trace_id"]: item["matches"] for item in items}


def named(number: int) -> str:
    return f"{number:016x}"


def test_a_trace_says_which_spans_and_texts_made_it_match(service: RunningService) -> None:
    retry = {"op": "FOLLOWED_BY", "as": "retry", "where": {"op": "EQ", "key": "type", "value": "LLM"}}
    parts = [
        {"op": "CONTAINS", "key": "error", "value": "NETWORK"},
        {"op": "EQ", "key": "type", "value": "TOOL"},
        retry,
    ]
    condition = {"op": "SPAN", "as": "failed", "where": {"op": "AND", "conditions": parts}}
    expected = {
        "spans": {
            "failed": {"count": 1, "span_ids": [named(2)]},
            "retry": {"count": 1, "span_ids": [named(3)]},
        },
        "texts": [{"span_id": named(2), "field": "error", "context": "no network", "start": 3, "end": 10}],
    }
    for body in ({}, {"detail": "summary"}, {"total": "at_least"}, {"sort": {"key": "total_spans"}}):
        assert matches_of(service, condition, **body) == {trace_id("retried"): expected}


def test_only_what_is_true_made_a_trace_match(service: RunningService) -> None:
    def span_of(tool_name: str) -> dict[str, Any]:
        return {"op": "SPAN", "where": {"op": "EQ", "key": "tool_name", "value": tool_name}}

    said = {"op": "CONTAINS", "key": "text", "value": "refund me"}
    refused = {"op": "NOT", "condition": span_of("look")}
    condition = {"op": "OR", "conditions": [span_of("approve"), refused, span_of("search"), said]}
    found = matches_of(service, condition)
    assert found[trace_id("said")] == {
        "spans": {},
        "texts": [{"span_id": named(1), "field": "input", "context": "Please REFUND me twice!", "start": 7, "end": 16}],
    }
    assert found[trace_id("five")] == {
        "spans": {"span_3": {"count": 5, "span_ids": [named(number) for number in range(2, 7)]}},
        "texts": [],
    }
    assert found[trace_id("approved")]["spans"] == {"span": {"count": 1, "span_ids": [named(2)]}}
    assert found[trace_id("no tool")] == {"spans": {}, "texts": []}


def test_a_page_without_matches_is_as_it_was(service: RunningService) -> None:
    condition = {"op": "SPAN", "where": {"op": "EQ", "key": "type", "value": "TOOL"}}
    plain, with_matches = (
        service.search(filter=condition, detail="summary", matches=matches).json()["data"] for matches in (False, True)
    )
    assert [item | {"matches": None} for item in plain] == [item | {"matches": None} for item in with_matches]
    assert not any("matches" in item for item in plain)


def test_sessions_have_no_matches(service: RunningService) -> None:
    rejected = service.search(group_by="session", matches=True)
    assert rejected.status_code == 422
    assert rejected.json()["detail"].endswith("`matches` is not supported with `group_by: session` - at `$.matches`")


def test_an_export_asks_the_same_question(service: RunningService) -> None:
    asked = {"filter": QUESTIONS["which spans are still running?"], "format": "ndjson"}
    exported = service.http.get("/traces/export", params=asked).raise_for_status().text
    assert [json.loads(line)["trace_id"] for line in exported.splitlines()] == [trace_id("running")]
