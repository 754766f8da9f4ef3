"""Held requests of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


def hold_requests(page: Page, pattern: str) -> list[Route]:
    """Holds every request of a page to an address that matches `pattern`. Returns the list that collects them."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(pattern, hold)
    return held
