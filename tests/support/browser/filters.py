"""The filter of the trace list: its form in the address, and the list that it produces."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from support.services.process import RunningService


def place(expression: object, **params: str) -> str:
    """Returns the place of the traces that match an expression, or a text that is not an expression."""
    text = expression if isinstance(expression, str) else json.dumps(expression)
    return "#/traces?from=all&q=" + quote(text, safe="") + "".join(f"&{name}={value}" for name, value in params.items())


def filter_of(page: Page) -> Any:
    """Returns the filter in the address."""
    found = parse_qs(urlsplit(page.url.split("#", 1)[1]).query).get("q")
    return None if found is None else json.loads(found[0])


def total(service: RunningService, expression: object) -> int:
    answer = service.http.post("/traces/search", json={"filter": expression, "limit": 1}).raise_for_status()
    return int(answer.json()["meta"]["total_count"])


def expect_total(page: Page, service: RunningService, expression: object) -> None:
    count = total(service, expression)
    expect(page.locator("section[aria-label='List of traces'] b").first).to_have_text(
        f"{count:,} trace" if count == 1 else f"{count:,} traces"
    )


def expect_newest(page: Page, service: RunningService, expression: object) -> None:
    """Expects the service's first trace at the top, because the list does not count conditions on spans."""
    search = {"filter": expression, "limit": 1, "detail": "summary"}
    (newest,) = service.http.post("/traces/search", json=search).raise_for_status().json()["data"]
    first = page.locator("[data-row] a").first
    expect(first).to_have_attribute("href", re.compile(f"^#/trace/{newest['trace_id']}"))
