"""The accessibility of a page, checked by axe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


def assert_accessible(page: Page) -> None:
    """Asserts that axe finds no violation in the page, after its requests have finished.

    Content is dimmed while it is reloading, which axe would report.
    """
    expect(page.locator("[aria-busy='true']")).to_have_count(0)
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
