"""Accessibility of a page, as axe sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


def assert_accessible(page: Page) -> None:
    """Asserts that axe finds no violation of any of its rules in the page, once what it asked for is there.

    What is asked for anew is dimmed until then.
    """
    expect(page.locator("[aria-busy='true']")).to_have_count(0)
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
