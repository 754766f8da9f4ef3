"""Requests of a page that are held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


def hold_requests(page: Page, pattern: str) -> list[Route]:
    """Holds back every request of a page to an address that fits `pattern`, and returns the list that they come to."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(pattern, hold)
    return held
