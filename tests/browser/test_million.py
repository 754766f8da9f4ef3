"""The list over a million traces agrees with the service on every page."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from support.services.browsed import filled_data_folder
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

TRACES = int(os.environ.get("SLOW_TRACES", "1000000"))
PAGE_SIZE = 50
FAILED = {"op": "EQ", "key": "status", "value": "ERROR"}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = filled_data_folder(tmp_path_factory.mktemp("large"), TRACES)
    with RunningService(folder) as running:
        yield running
        assert running.stop() == 0


def ids(page: Page) -> list[str]:
    """Returns the ids of the visible traces, in order."""
    places: list[str] = page.locator("[data-row] a").evaluate_all("links => links.map((link) => link.hash)")
    return [place.rsplit("/", 1)[1] for place in places]


def answered(service: RunningService, **search: object) -> tuple[list[str], dict[str, Any]]:
    answer = service.search(detail="summary", limit=PAGE_SIZE, **search).json()
    return [item["trace_id"] for item in answer["data"]], answer["meta"]


@pytest.mark.parametrize(
    ("place", "search"),
    [
        ("", {}),
        ("&sort=-duration_ms", {"sort": {"key": "duration_ms"}}),
        (f"&q={quote(json.dumps(FAILED))}", {"filter": FAILED}),
    ],
    ids=["newest", "slowest", "failed"],
)
def test_every_page_is_the_answer_of_the_service(
    visit: Callable[..., Page], large: RunningService, place: str, search: dict[str, object]
) -> None:
    first, meta = answered(large, **search)
    pages = meta["total_pages"]
    assert pages > TRACES / PAGE_SIZE / 100
    page = visit(large.url, f"#/traces?from=all{place}")
    expect(page.locator("[data-row]")).to_have_count(PAGE_SIZE)
    assert ids(page) == first
    expect(page.get_by_text(f"{meta['total_count']:,} traces").first).to_be_visible()
    middle = page.get_by_role("textbox", name="Page number").first
    for number in (pages // 2, pages):
        expected, _ = answered(large, page=number, **search)
        middle.fill(str(number))
        middle.press("Enter")
        expect(page.locator("[data-row] a").first).to_have_attribute("href", f"#/trace/{expected[0]}")
        assert ids(page) == expected


def test_counts_of_values_and_charts_are_those_of_all_traces(visit: Callable[..., Page], large: RunningService) -> None:
    facets = large.http.post("/traces/facets", json={"fields": ["status"], "limit": 2}).raise_for_status().json()
    page = visit(large.url, "#/traces?from=all", width=1440)
    for value in facets["data"]["status"]["values"]:
        expect(page.get_by_title(f"{value['count']:,}").first).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
