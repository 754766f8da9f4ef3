"""One trace as columns, one span with its messages and truncated values, one value part by part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

TRACE = "1" * 32
SPAN = "2" * 16
LONG = "é" * 100_000
HISTORY = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Where is my order?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": LONG},
]
ATTRIBUTES = {
    "openinference.span.kind": "LLM",
    "input.value": json.dumps({"messages": HISTORY}, ensure_ascii=False),
    "output.value": "It is on its way.",
    "a/b": LONG,
}


def request_of(attributes: dict[str, str]) -> bytes:
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {"traceId": TRACE, "spanId": SPAN, "name": "chat", "startTimeUnixNano": "1000000000", "attributes": listed}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("single") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        headers = {"Content-Type": "application/json"}
        service.http.post("/v1/traces", content=request_of(ATTRIBUTES), headers=headers).raise_for_status()
        yield service


def ask(service: RunningService, trace_id: str = TRACE, **query: object) -> httpx.Response:
    # `from` is a keyword of Python.
    parameters = {name.rstrip("_"): str(value) for name, value in query.items()}
    return service.http.get(f"/traces/{trace_id}", params=parameters)


def answered(service: RunningService, trace_id: str = TRACE, **query: object) -> Any:
    return ask(service, trace_id, **query).raise_for_status().json()


def preorder(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from preorder(node.get("spans", []))


def test_the_columns_of_a_skeleton_are_the_tree_of_the_trace(service: RunningService) -> None:
    found = service.http.post("/traces/search", json={"detail": "summary", "limit": 100}).json()["data"]
    assert len(found) == 100
    for preview in found:
        skeleton = answered(service, preview["trace_id"], detail="skeleton")
        columns = skeleton.pop("spans")
        assert skeleton == preview
        nodes = list(preorder(answered(service, preview["trace_id"])["tree"]))
        assert columns["span_id"] == [node["id"] for node in nodes]
        positions = {node["id"]: position for position, node in enumerate(nodes)}
        parents = {child["id"]: positions[node["id"]] for node in nodes for child in node.get("spans", [])}
        assert columns["parent"] == [parents.get(node["id"], -1) for node in nodes]
        names = columns["name"]
        assert [names["values"][code] for code in names["codes"]] == [node["name"] for node in nodes]
        failed = [node["status"] == "ERROR" for node in nodes]
        assert [code >= 0 for code in columns["error"]["codes"]] == failed


def test_the_detail_of_a_trace_is_full_unless_asked_otherwise(service: RunningService) -> None:
    assert answered(service) == answered(service, detail="full")
    assert "messages" not in answered(service)["tree"][0]


def test_a_span_that_has_no_end_is_running(service: RunningService) -> None:
    assert answered(service, detail="skeleton")["spans"]["duration_us"] == [None]


def test_a_span_shows_its_messages_and_a_result_names_its_call(service: RunningService) -> None:
    system, user, asked, result = answered(service, span_id=SPAN)["messages"]["input"]
    assert system == {"role": "system", "text": "You help."}
    assert user == {"role": "user", "text": "Where is my order?"}
    assert asked["tool_calls"] == [{"id": "c1", "name": "find", "arguments": "{}"}]
    assert result == {"role": "tool", "text": LONG, "tool_call_id": "c1"}


def test_long_values_are_cut_and_listed_and_can_be_read_page_by_page(service: RunningService) -> None:
    whole = answered(service, span_id=SPAN)
    assert "cut" not in whole
    response = ask(service, span_id=SPAN, max_bytes=1001)
    shown = response.json()
    assert len(response.content) < 10_000
    sizes = {cut["path"]: cut["bytes"] for cut in shown["cut"]}
    assert sizes == {
        "/extra_data/attributes/input.value": len(ATTRIBUTES["input.value"].encode()),
        "/extra_data/attributes/a~1b": 2 * len(LONG),
        "/messages/input/3/text": 2 * len(LONG),
    }
    assert shown["extra_data"]["attributes"]["a/b"] == "é" * 500
    assert shown["input"] == whole["input"]
    parts, start = [], 0
    while True:
        page = answered(service, span_id=SPAN, path="/messages/input/3/text", max_bytes=65_535, from_=start)
        assert (page["from"], page["bytes"]) == (start, 2 * len(LONG))
        parts.append(page["text"])
        if "next" not in page:
            break
        start = page["next"]
    assert "".join(parts) == LONG
    assert len(parts) == 4
    assert answered(service, span_id=SPAN, path="/output") == {"text": "It is on its way.", "from": 0, "bytes": 17}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"detail": "summary"}, "Invalid enum value 'summary' - at `detail`"),
        ({"detail": "skeleton", "span_id": SPAN}, "Expected no `detail` beside `span_id` - at `detail`"),
        ({"max_bytes": "64"}, "Expected `span_id` beside `max_bytes` - at `max_bytes`"),
        ({"path": "/input"}, "Expected `span_id` beside `path` - at `path`"),
        ({"from": "0"}, "Expected `span_id` beside `from` - at `from`"),
        ({"span_id": SPAN, "from": "0"}, "Expected `path` beside `from` - at `from`"),
        ({"span_id": SPAN, "max_bytes": "63"}, "Expected `int` >= 64 - at `max_bytes`"),
        ({"span_id": SPAN, "max_bytes": "many"}, "Expected `int`, got `str` - at `max_bytes`"),
        ({"span_id": SPAN, "path": "/input", "from": "-1"}, "Expected `int` >= 0 - at `from`"),
        ({"span_id": SPAN, "path": "/input", "from": ["1", "2"]}, "Expected one value, got more - at `from`"),
        ({"span_id": SPAN, "path": "/input", "from": str(2**53)}, "Expected `int` <= 9007199254740991 - at `from`"),
        ({"span_id": SPAN, "max_bytes": str(2**64)}, "Expected `int` <= 9007199254740991 - at `max_bytes`"),
    ],
)
def test_a_wrong_parameter_is_named(service: RunningService, query: dict[str, Any], message: str) -> None:
    response = service.http.get(f"/traces/{TRACE}", params=query)
    assert (response.status_code, response.json()["detail"]) == (422, message)


@pytest.mark.parametrize(
    ("trace_id", "query", "message"),
    [
        ("3" * 32, {"detail": "skeleton"}, "Trace not found"),
        ("nothing", {"detail": "skeleton"}, "Trace not found"),
        (TRACE, {"span_id": "3" * 16, "max_bytes": 64}, "Span not found"),
        (TRACE, {"span_id": "3" * 16, "path": "/input"}, "Value not found"),
        (TRACE, {"span_id": SPAN, "path": "/nothing"}, "Value not found"),
        (TRACE, {"span_id": SPAN, "path": ""}, "Value not found"),
        (TRACE, {"span_id": SPAN, "path": "/messages/input/9/text"}, "Value not found"),
    ],
)
def test_what_is_not_there_is_named(
    service: RunningService, trace_id: str, query: dict[str, Any], message: str
) -> None:
    response = ask(service, trace_id, **query)
    assert (response.status_code, response.json()["detail"]) == (404, message)


def test_a_start_behind_the_end_of_a_value_is_its_end(service: RunningService) -> None:
    page = answered(service, span_id=SPAN, path="/output", from_=2**53 - 1)
    assert page == {"text": "", "from": 17, "bytes": 17}
