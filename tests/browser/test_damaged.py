"""A trace with damaged spans: the list marks it, and its screen shows its intact parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from spanwise import TraceStore
from support.browser.accessibility import assert_accessible
from support.browser.pictures import take_picture
from support.clients.made_up_trace import MadeUpTrace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from support.services.process import RunningService


def fill(folder: Path) -> None:
    """Fills a store with two traces, each in a segment of its own."""
    for _ in range(2):
        trace = MadeUpTrace()
        trace.add("refund", "AGENT", duration=1_500, attributes={"session.id": "s-refund", "input.value": "refund me"})
        store = TraceStore.open(str(folder))
        for body in trace.requests():
            store.ingest(body, "application/json")
        store.flush()
        store.close()


def test_it_is_named_in_the_list_and_shows_what_is_left(
    visit: Callable[..., Page], start: Callable[..., RunningService], tmp_path: Path
) -> None:
    fill(tmp_path / "data" / "traces")
    running = start()
    documents = min((tmp_path / "data" / "traces" / "segments").glob("*/spans.otlp.zst"))
    content = bytearray(documents.read_bytes())
    content[len(content) // 2] ^= 1
    documents.write_bytes(content)

    page = visit(running.url, "#/traces?from=all")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="damaged")).to_have_count(1)
    assert_accessible(page)
    rows.filter(has_text="damaged").get_by_role("link").click()
    expect(page.get_by_text("This trace is damaged")).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="refund")).to_be_visible()
    head = page.get_by_role("main").locator("dl")
    for known in ("1.5 s", "s-refund"):
        expect(head).to_contain_text(known)
    expect(head).not_to_contain_text("Cost")
    assert_accessible(page)
    take_picture(page, "trace-damaged")
    page.go_back()
    rows.filter(has_not_text="damaged").get_by_role("link").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("refund me")
