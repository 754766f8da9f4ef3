"""Searches with other orders and less detail agree with the default search."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures
from support.services.adapted import nodes_of
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS = ["input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens"]
CALLS = ["llm_calls", "tool_calls"]
KEYS = ["start_time", "duration_ms", "total_spans", "error_count", *TOKENS, *CALLS]
SHORTENED = ["input", "output", "error"]
RESOURCE_TEXTS = {
    "service": "service.name",
    "environment": "deployment.environment.name",
    "release": "service.version",
}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("sorted") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


def found(service: RunningService, **search: object) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    page = pages = 1
    while page <= pages:
        body = {"page": page, "limit": 17, **search}
        response = service.http.post("/traces/search", json=body).raise_for_status().json()
        items += response["data"]
        page, pages = page + 1, response["meta"]["total_pages"]
    return items


@pytest.mark.parametrize("order", ["ascending", "descending"])
@pytest.mark.parametrize("key", KEYS)
def test_pages_are_in_the_order_of_the_key_and_equal_values_are_newest_first(
    captured: RunningService, key: str, order: str
) -> None:
    newest_first = found(captured, detail="summary")
    shown = found(captured, detail="summary", sort={"key": key, "ascending": order == "ascending"})
    assert shown == sorted(newest_first, key=lambda item: value(item, key), reverse=order == "descending")


def value(item: dict[str, Any], key: str) -> Any:
    if key != "duration_ms":
        return item[key]
    lasted = datetime.fromisoformat(item["end_time"]) - datetime.fromisoformat(item["start_time"])
    return lasted // timedelta(milliseconds=1)


def test_a_preview_shows_the_row_and_the_beginnings_of_the_texts(captured: RunningService) -> None:
    previews = found(captured, detail="summary")
    details = found(captured)
    assert len(previews) == len(details) > 100
    for preview, detail in zip(previews, details, strict=True):
        for key in SHORTENED:
            text = detail.pop(key, None)
            shown = preview.pop(f"{key}_preview", None)
            assert shown == (text if text is None or len(text) <= 200 else text[:200] + "…")
        nodes = list(nodes_of(detail))
        tree = detail.pop("tree")
        totals = tree[0].get("metadata", {})
        assert preview.pop("input_tokens") == totals.get("total_input_tokens", 0)
        assert preview.pop("output_tokens") == totals.get("total_output_tokens", 0)
        types = Counter(node["type"] for node in nodes)
        assert preview.pop("total_tokens") == sum(totals.get(f"total_{side}_tokens", 0) for side in ("input", "output"))
        assert preview.pop("tool_calls") == types["TOOL"]
        assert (preview.pop("llm_calls") > 0) == (types["LLM"] > 0)
        for part in ("cached_tokens", "reasoning_tokens"):
            reported = sum(node.get("metadata", {}).get(part, 0) for node in nodes)
            assert 0 <= preview.pop(part) <= reported
        assert [preview.get(key) for key in ("cost", "cost_partial")].count(None) == 1
        resources = [node["extra_data"]["resource"]["attributes"] for node in nodes if "resource" in node["extra_data"]]
        for key, attribute in RESOURCE_TEXTS.items():
            assert preview.pop(key, None) in {resource.get(attribute) for resource in resources}
        assert preview == detail


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"sort": {"key": "name"}}, "$.sort.key"),
        ({"sort": {"key": "start_time", "ascending": "yes"}}, "$.sort.ascending"),
        ({"sort": "duration_ms"}, "$.sort"),
        ({"detail": "everything"}, "$.detail"),
        ({"group_by": "session", "sort": {"key": "duration_ms"}}, "$.sort"),
        ({"total": "some"}, "$.total"),
        ({"total": "at_least", "group_by": "session"}, "$.total"),
        ({"total": "at_least", "sort": {"key": "duration_ms"}}, "$.total"),
    ],
)
def test_what_cannot_be_sorted_or_shown_is_rejected_with_its_place(
    captured: RunningService, search: dict[str, object], message: str
) -> None:
    response = captured.http.post("/traces/search", json=search)
    assert response.status_code == 422
    assert message in response.json()["detail"]
