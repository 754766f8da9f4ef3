"""Searches in another order and with less detail agree with the default search."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ["start_time", "duration_ms", "total_spans", "error_count", "input_tokens", "output_tokens"]
SHORTENED = ["input", "output", "error"]


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
        tree = detail.pop("tree")
        totals = tree[0].get("metadata", {})
        assert preview.pop("input_tokens") == totals.get("total_input_tokens", 0)
        assert preview.pop("output_tokens") == totals.get("total_output_tokens", 0)
        assert preview == detail


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"sort": {"key": "name"}}, "$.sort.key"),
        ({"sort": {"key": "start_time", "ascending": "yes"}}, "$.sort.ascending"),
        ({"sort": "duration_ms"}, "$.sort"),
        ({"detail": "everything"}, "$.detail"),
        ({"group_by": "session", "sort": {"key": "duration_ms"}}, "$.sort"),
    ],
)
def test_what_cannot_be_sorted_or_shown_is_rejected_with_its_place(
    captured: RunningService, search: dict[str, object], message: str
) -> None:
    response = captured.http.post("/traces/search", json=search)
    assert response.status_code == 422
    assert message in response.json()["detail"]
