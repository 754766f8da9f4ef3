"""The live tail: arriving traces, pauses, and a service that stops and restarts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.pictures import take_picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from support.services.process import RunningService


def run(service: RunningService, message: str) -> None:
    """Creates a trace with the input `message`."""
    form = {"message": message, "stream": "false"}
    service.http.post("/agents/echo/runs", data=form).raise_for_status()


def test_a_trace_is_shown_as_it_arrives(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/tail")
    expect(page.get_by_text("Nothing has arrived yet.")).to_be_visible()
    run(service, "first of the tail")
    run(service, "second of the tail")
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="first of the tail")).to_be_visible()
    expect(rows.nth(1)).to_contain_text("second of the tail")
    assert_accessible(page)
    take_picture(page, "tail")
    rows.nth(1).get_by_role("link").click()
    expect(page).to_have_url(re.compile("#/trace/[0-9a-f]{32}"))


def test_a_pause_keeps_what_is_read_in_its_place(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/tail")
    expect(page.get_by_text("Nothing has arrived yet.")).to_be_visible()
    run(service, "before the pause")
    expect(page.get_by_role("row").filter(has_text="before the pause")).to_be_visible()
    page.get_by_role("main").focus()
    page.keyboard.press("p")
    run(service, "during the pause")
    expect(page.get_by_role("button", name="1 waiting")).to_be_visible()
    expect(page.get_by_text("during the pause")).to_have_count(0)
    page.keyboard.press("p")
    expect(page.get_by_role("row").filter(has_text="during the pause")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_text("Nothing has arrived yet.")).to_be_visible()


def test_a_filter_in_the_address_chooses(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, '#/tail?q={"op":"EQ","key":"agent_id","value":"weather"}')
    expect(page.get_by_text("Nothing has arrived yet.")).to_be_visible()
    run(service, "not of this agent")
    service.http.post("/agents/weather/runs", data={"message": "Oslo", "stream": "false"}).raise_for_status()
    expect(page.get_by_role("row").filter(has_text="Oslo")).to_be_visible()
    expect(page.get_by_text("not of this agent")).to_have_count(0)


def test_a_filter_that_is_refused_is_said(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, '#/tail?q={"op":"ETWAS"}', expected=["status of 400"])
    expect(page.get_by_role("alert")).to_contain_text("ETWAS")
    page = visit(service.url, "#/tail?q=[]")
    expect(page.get_by_role("alert")).to_contain_text("no JSON object")


def test_an_interruption_is_said_and_ends(visit: Callable[..., Page], start: Callable[..., RunningService]) -> None:
    running = start()
    # A service that is stopping or opening its store responds with 503.
    outage = ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "status of 503"]
    page = visit(running.url, "#/tail", expected=outage)
    expect(page.get_by_text("Nothing has arrived yet.")).to_be_visible()
    assert running.stop() == 0
    expect(page.get_by_text("Interrupted, trying again…")).to_be_visible()
    again = start("--port", str(running.port), is_ready=False)
    again.http.base_url = running.url
    again.wait_until_ready()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_text("some may be missing")).to_be_visible()
