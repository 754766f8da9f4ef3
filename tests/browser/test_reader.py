"""The page of a reader: what only a writer serves is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from support.services.process import RunningService


def test_the_page_of_a_reader_hides_what_it_does_not_serve(
    visit: Callable[..., Page], start: Callable[..., RunningService]
) -> None:
    start()
    reader = start("--reader")
    page = visit(reader.url, "#/status")
    screens = page.get_by_role("navigation", name="Screens").get_by_role("link")
    expect(screens).to_have_text(["Traces", "Sessions", "Live tail", "Status"])
    expect(page.get_by_text("✓ follows, ")).to_be_visible()
    page.goto(f"{reader.url}/ui#/playground")
    expect(page.get_by_role("heading", name="Traces").first).to_be_visible()
