"""The trace list: order, pages, keys, ranges, and the empty state."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.pictures import take_picture
from support.clients.otlp import export_request
from support.clients.tokens import as_caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from support.services.process import RunningService

HOSTILE = [
    "<script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    "javascript:alert(1)",
    "![](https://example.com/a.png)",
    "{{constructor.constructor('window.hurt = 1')()}}",
    "\u202egpj.exe\u2066\u200b\u0007",
    "x" * 20_000,
]

SORTED = [
    ("Duration", "duration_ms"),
    ("Spans", "total_spans"),
    ("Errors", "error_count"),
    ("Tokens in", "input_tokens"),
    ("Tokens out", "output_tokens"),
]


def rows(page: Page) -> Locator:
    return page.locator("[data-row]")


def ids(page: Page) -> list[str]:
    """Returns the ids of the visible traces, in order."""
    places: list[str] = page.locator("[data-row] a").evaluate_all("links => links.map((link) => link.hash)")
    return [place.rsplit("/", 1)[1] for place in places]


def found(service: RunningService, **request: Any) -> list[dict[str, Any]]:
    body = {"detail": "summary", "limit": 50, **request}
    traces: list[dict[str, Any]] = service.http.post("/traces/search", json=body).raise_for_status().json()["data"]
    return traces


def total(service: RunningService) -> int:
    """Returns the number of traces."""
    answer = service.http.post("/traces/search", json={"limit": 1, "detail": "summary"}).raise_for_status().json()
    return int(answer["meta"]["total_count"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_traces_are_listed(visit: Callable[..., Page], service: RunningService, theme: str) -> None:
    page = visit(service.url, "#/traces?from=all", theme=theme, width=1440, height=900)
    expect(rows(page)).to_have_count(50)
    assert ids(page) == [trace["trace_id"] for trace in found(service)]
    expect(
        page.get_by_label("Values to filter by").get_by_role("button", name="ERROR", exact=False).first
    ).to_be_visible()
    assert_accessible(page)
    take_picture(page, f"traces-{theme}")


def test_it_is_the_first_screen(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url)
    expect(page).to_have_title(re.compile("^Traces"))
    expect(page.get_by_role("button", name="Time range: Last 24 hours")).to_be_visible()


def test_every_heading_sorts(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all", width=1600)
    for heading, key in SORTED:
        cell = page.get_by_role("columnheader", name=heading)
        for order, ascending in [("descending", False), ("ascending", True)]:
            cell.get_by_role("button").click()
            expect(cell).to_have_attribute("aria-sort", order)
            expected = found(service, sort={"key": key, "ascending": ascending})
            expect(page.locator("[data-row] a").first).to_have_attribute("href", f"#/trace/{expected[0]['trace_id']}")
            assert ids(page) == [trace["trace_id"] for trace in expected]


def test_pages_are_turned_and_the_back_button_turns_back(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    expect(rows(page)).to_have_count(50)
    page.get_by_role("button", name="Next").first.click()
    expect(page.get_by_label("Page number").first).to_have_value("2")
    expect(page).to_have_url(re.compile("page=2"))
    assert ids(page) == [trace["trace_id"] for trace in found(service, page=2)]
    page.go_back()
    expect(page.get_by_label("Page number").first).to_have_value("1")
    page.goto(f"{service.url}/ui#/traces?from=all&page=99999")
    page.get_by_role("button", name="Show the first page").click()
    expect(rows(page)).to_have_count(50)


def test_the_number_of_a_page_is_typed(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all&page=4")
    expect(rows(page)).to_have_count(50)
    pages = -(-total(service) // 50)
    field = page.get_by_label("Page number").first
    expect(field).to_have_value("4")
    for typed, turned in [("17", 17), ("0", 1), ("1,000,000", pages), ("a few", pages), ("3", 3)]:
        field.fill(typed)
        field.press("Enter")
        expect(field).to_have_value(str(turned))
        expected = [trace["trace_id"] for trace in found(service, page=turned)]
        expect(page.locator("[data-row] a").first).to_have_attribute("href", f"#/trace/{expected[0]}")
        assert ids(page) == expected
    expect(page).to_have_url(re.compile("page=3"))
    page.go_back()
    expect(field).to_have_value(str(pages))
    assert_accessible(page)


def test_every_key(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    expect(rows(page)).to_have_count(50)
    shown = ids(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    expect(rows(page).nth(1).get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"#/trace/{shown[1]}"))
    page.go_back()
    expect(rows(page)).to_have_count(50)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search names")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("f")
    expect(page.get_by_role("dialog", name="Add: filter").get_by_label("Field")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Add: filter")).to_be_hidden()
    with page.expect_request("**/traces/search**"):
        page.keyboard.press("r")


def test_a_value_of_the_list_is_filtered_by_and_excluded(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all&sort=-input_tokens")
    expect(rows(page)).to_have_count(50)
    value = page.locator("[data-row] td.user button").first
    user = value.inner_text().strip()
    value.click()
    menu = page.get_by_role("dialog", name=user)
    assert_accessible(page)
    menu.get_by_role("button", name="Filter by").click()
    condition = {"op": "EQ", "key": "user_id", "value": user}
    expect(page.get_by_text(f"User ID is {user}")).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape(quote(json.dumps(condition, separators=(",", ":")), safe=""))[:40]))
    page.locator("[data-row] td.user button").first.click()
    page.get_by_role("dialog", name=user).get_by_role("button", name="Exclude").click()
    expect(page.get_by_text(f"User ID is not {user}")).to_be_visible()


def test_what_was_said_and_done_is_a_filter(visit: Callable[..., Page], service: RunningService) -> None:
    failed = {"op": "EQ", "key": "status", "value": "ERROR"}
    word = found(service, filter=failed)[0]["error_preview"].split()[0]
    page = visit(service.url, "#/traces?from=all")
    expect(rows(page)).to_have_count(50)
    page.keyboard.press("f")
    dialog = page.get_by_role("dialog", name="Add: filter")
    dialog.get_by_label("Field").select_option("error")
    dialog.get_by_label("Value").fill("...")
    dialog.get_by_label("Value").press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("Enter a text with a letter or a digit.")
    dialog.get_by_label("Value").fill(word)
    dialog.get_by_label("Value").press("Enter")
    expect(page.get_by_text(f"Error contains {word}")).to_be_visible()
    expected = found(service, filter={"op": "CONTAINS", "key": "error", "value": word})
    expect(page.locator("[data-row] a").first).to_have_attribute("href", leads_to(expected[0]["trace_id"]))
    called = {
        "op": "SPAN",
        "where": {"op": "AND", "conditions": [{"op": "EQ", "key": "type", "value": "TOOL"}, failed]},
    }
    page = visit(service.url, f"#/traces?from=all&q={quote(json.dumps(called))}")
    expect(page.get_by_text("a tool span fails")).to_be_visible()
    expected = found(service, filter=called)
    expect(page.locator("[data-row] a").first).to_have_attribute("href", leads_to(expected[0]["trace_id"]))


def leads_to(trace_id: str) -> re.Pattern[str]:
    """Returns a pattern for the address of a trace that keeps the filter."""
    return re.compile(f"^#/trace/{trace_id}\\?q=")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_a_row_shows_where_the_filter_found_its_text(
    visit: Callable[..., Page], service: RunningService, theme: str, width: int
) -> None:
    failed = {"op": "EQ", "key": "status", "value": "ERROR"}
    word = found(service, filter=failed)[0]["error_preview"].split()[0]
    said = {"op": "CONTAINS", "key": "error", "value": word.upper()}
    page = visit(service.url, f"#/traces?from=all&q={quote(json.dumps(said))}", theme=theme, width=width, height=900)
    expected = found(service, filter=said, matches=True)
    marks = rows(page).locator("mark")
    expect(marks).to_have_count(len(expected))
    for number in (0, len(expected) - 1):
        piece = expected[number]["matches"]["texts"][0]
        expect(marks.nth(number)).to_have_text(piece["context"][piece["start"] : piece["end"]])
        expect(marks.nth(number)).to_be_visible()
    expect(marks.first).to_have_text(re.compile(re.escape(word), re.IGNORECASE))
    assert_accessible(page)
    take_picture(page, f"traces-matches-{theme}-{width}")
    page.goto(f"{service.url}/ui#/traces?from=all&q={quote(json.dumps(failed))}")
    expect(marks).to_have_count(0)
    expect(page.locator("[data-row] a").first).to_have_attribute("href", re.compile("^#/trace/[0-9a-f]+$"))


def test_columns_are_left_out_and_stay_so(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all", width=1440)
    expect(page.get_by_role("columnheader", name="Spans")).to_be_visible()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("dialog", name="Columns").get_by_label("Spans").uncheck()
    page.reload()
    expect(page.get_by_role("columnheader", name="Duration")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Spans")).to_have_count(0)


def test_a_search_finds_names_and_opens_ids(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    expect(rows(page)).to_have_count(50)
    first = ids(page)[0]
    page.keyboard.press("/")
    page.keyboard.type("forecast")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Trace Name contains forecast")).to_be_visible()
    expected = found(service, filter={"op": "CONTAINS", "key": "name", "value": "forecast"})
    expect(page.locator("[data-row] a").first).to_have_attribute("href", f"#/trace/{expected[0]['trace_id']}")
    page.keyboard.press("/")
    page.keyboard.type(first)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"#/trace/{first}"))


def test_a_range_without_traces_leads_to_the_newest(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=2031-01-01T00:00:00Z")
    expect(page.get_by_role("heading", name="No traces in this range")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Show the newest").click()
    expect(rows(page).first).to_be_visible()
    assert ids(page)[0] == found(service)[0]["trace_id"]


def test_a_range_is_chosen(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url)
    page.get_by_role("button", name="Time range").click()
    assert_accessible(page)
    page.get_by_role("button", name="Last 30 days").click()
    expect(page).to_have_url(re.compile("from=-30d"))
    page.get_by_role("button", name="Time range: Last 30 days").click()
    panel = page.get_by_role("dialog", name="Time range")
    panel.get_by_label("From").fill("2026-01-02T03:04:05")
    panel.get_by_label("To").fill("2026-01-01T03:04:05")
    panel.get_by_role("button", name="Apply").click()
    expect(panel.get_by_role("alert")).to_contain_text("ends before it begins")
    panel.get_by_label("To").fill("")
    panel.get_by_role("button", name="Apply").click()
    expect(page).to_have_url(re.compile("from=2026-01-02T03%3A04%3A05.000Z"))


def test_an_empty_store_and_unreadable_links_are_said(
    visit: Callable[..., Page], service: RunningService, empty: RunningService
) -> None:
    page = visit(empty.url, "#/traces")
    expect(page.get_by_role("heading", name="No traces yet")).to_be_visible()
    assert_accessible(page)
    page = visit(service.url, "#/traces?from=yesterday")
    expect(page.get_by_role("alert")).to_contain_text("time range of this link cannot be read")
    page = visit(service.url, "#/traces?from=all&db=nowhere", expected=["status of 404"])
    expect(page.get_by_role("alert").first).to_contain_text("nowhere")


def test_a_missing_scope_is_named(visit: Callable[..., Page], guarded: RunningService) -> None:
    token = as_caller("reader", "sessions:read")["Authorization"].removeprefix("Bearer ")
    page = visit(guarded.url, "#/traces", token=token, expected=["status of 403"])
    expect(page.get_by_role("alert").first).to_contain_text("traces:read")
    assert_accessible(page)


def test_a_service_that_stops_leaves_the_rows(visit: Callable[..., Page], start: Callable[..., RunningService]) -> None:
    running = start()
    export = export_request("ab" * 16, "cd" * 8, **{"session.id": "s1"})
    running.http.post("/v1/traces", content=export, headers={"Content-Type": "application/json"}).raise_for_status()
    page = visit(running.url, "#/traces", expected=["ERR_CONNECTION_REFUSED"])
    expect(rows(page)).to_have_count(1)
    expect(page.locator("canvas").first).to_be_visible()  # the part of the page that draws it is loaded last
    assert running.stop() == 0
    page.keyboard.press("r")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(rows(page)).to_have_count(1)
    assert_accessible(page)


def test_text_of_strangers_is_shown_as_it_is(visit: Callable[..., Page], start: Callable[..., RunningService]) -> None:
    running = start()
    for number, text in enumerate(HOSTILE):
        attributes = {"session.id": text, "user.id": text, "agno.agent.id": text, "input.value": text}
        body = json.loads(export_request(f"{number + 1:032x}", f"{number + 1:016x}", **attributes))
        body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"] = text
        running.http.post("/v1/traces", json=body).raise_for_status()
    page = visit(running.url, "#/traces", width=1600)
    expect(rows(page)).to_have_count(len(HOSTILE))
    expect(page.get_by_text("U+202E", exact=True).first).to_be_visible()
    for button in page.locator("[data-row] td.user button").all():
        button.click()
        page.get_by_role("button", name="Filter by").click()
        page.get_by_role("button", name="Clear", exact=True).click()
    page.get_by_role("button", name="Recent filters").click()
    assert page.evaluate("window.hurt") is None


def test_a_phone_shows_traces(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all", width=360, height=740)
    expect(rows(page)).to_have_count(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert_accessible(page)
    take_picture(page, "traces-phone")
    page.get_by_text("Values to filter by").click()
    page.get_by_role("button", name="Show charts").click()
    expect(page.get_by_role("img", name="Traces over time")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
