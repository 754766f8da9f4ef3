"""Untrusted text stays text: no part of a span runs, loads, or changes the page that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from support.browser.hostile import TEXTS, export_of, session_id, trace_id
from support.browser.pictures import take_picture
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

LONGEST_ADDRESS = 1_000
JSON = {"Content-Type": "application/json"}
PRISTINE = """() => ({
    touched: globalThis.touched ?? Object.prototype.touched ?? null,
    base: document.baseURI.split("#")[0],
    foreign: document.querySelectorAll(
        "body script, body style, iframe, object, embed, base, meta[http-equiv], form[action], [srcdoc]").length,
    handlers: [...document.querySelectorAll("*")].flatMap((element) => element.getAttributeNames())
        .filter((name) => name.startsWith("on")),
    links: [...document.links].map((link) => link.protocol).filter((protocol) => !/^https?:$/.test(protocol)),
    loaded: [...document.images].map((image) => image.src).filter((address) => !address.startsWith(location.origin)),
})"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with only hostile traces."""
    with RunningService(tmp_path_factory.mktemp("hostile") / "data") as running:
        for name in TEXTS:
            response = running.http.post("/v1/traces", content=export_of(name), headers=JSON)
            assert response.json() == {}, response.text[:500]
        yield running
        assert running.stop() == 0


def go(page: Page, place: str) -> None:
    """Navigates to a place without reloading the page."""
    page.evaluate("(place) => { location.hash = place; }", place)


def assert_pristine(page: Page, service: RunningService) -> None:
    """Asserts that the page is the same as before it showed any trace."""
    found = page.evaluate(PRISTINE)
    nothing: dict[str, object] = {"touched": None, "foreign": 0, "handlers": [], "links": [], "loaded": []}
    assert found == {"base": f"{service.url}/ui", **nothing}


@pytest.mark.parametrize("screen", ["sessions", "playground", "status", "traces?from=all"])
def test_a_list_shows_it_as_text(visit: Callable[..., Page], hostile: RunningService, screen: str) -> None:
    page = visit(hostile.url, f"#/{screen}")
    expect(page.get_by_role("main")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert_pristine(page, hostile)
    take_picture(page, f"hostile-{screen.partition('?')[0]}")


def test_the_live_tail_shows_it_as_text(start: Callable[..., RunningService], visit: Callable[..., Page]) -> None:
    running = start()
    page = visit(running.url, "#/tail", height=1_000)
    expect(page.get_by_text("Nothing has arrived yet.")).to_be_visible()
    for name in TEXTS:
        response = running.http.post("/v1/traces", content=export_of(name), headers=JSON)
        assert response.json() == {}, response.text[:500]
    rows = page.get_by_role("table", name="Traces").get_by_role("row")
    expect(rows).to_have_count(len(TEXTS) + 1)
    expect(page.get_by_text("U+202E", exact=True).first).to_be_visible()
    assert_pristine(page, running)
    take_picture(page, "hostile-tail")


def test_a_session_shows_it_as_text(visit: Callable[..., Page], hostile: RunningService) -> None:
    page = visit(hostile.url, "#/status")
    for name in TEXTS:
        with page.expect_response("**/traces/search*") as turns:
            go(page, f"#/sessions/{quote(session_id(name), safe='')}")
        assert turns.value.ok, name
        expect(page.get_by_role("main")).to_contain_text("1 turn")
        expect(page.get_by_role("article", name="Turn 1")).to_be_visible()
        assert_pristine(page, hostile)
        go(page, "#/status")
        expect(page.get_by_role("heading", name="Status")).to_be_visible()


@pytest.mark.parametrize("format_", ["raw", "json", "markdown"])
def test_a_trace_shows_it_as_text(visit: Callable[..., Page], hostile: RunningService, format_: str) -> None:
    page = visit(hostile.url, "#/status")
    tabs = ["Messages", "Input/Output", *(["Attributes", "Events", "Tokens"] if format_ == "raw" else [])]
    for name in TEXTS:
        with page.expect_response(f"**/traces/{trace_id(name)}?*span_id=*") as span:
            go(page, f"#/trace/{trace_id(name)}?span={2:016x}&as={format_}")
        assert span.value.ok, name
        for tab in tabs:
            page.get_by_role("tab", name=tab).click()
            expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
            page.evaluate("() => new Promise(requestAnimationFrame)")
            assert_pristine(page, hostile)
        assert page.locator("main :is(img, iframe, svg)").count() == 0, name


def test_a_place_in_the_address_is_text_too(visit: Callable[..., Page], hostile: RunningService) -> None:
    page = visit(hostile.url, "#/status", expected=[r"status of 4\d\d"])
    for text in TEXTS.values():
        if len(text) >= LONGEST_ADDRESS:
            continue
        given = quote(text, safe="")
        places = (given, f"sessions?q={given}&page={given}", f"sessions/{given}?{given}={given}", f"playground/{given}")
        for place in places:
            go(page, f"#/{place}")
            expect(page.get_by_role("main")).not_to_be_empty()
            page.wait_for_load_state("networkidle")
            assert_pristine(page, hostile)
