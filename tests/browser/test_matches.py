"""From the list to a trace, where the spans that the filter asked for are marked, and from a span to others like it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.pictures import take_picture
from support.clients.made_up_trace import MadeUpTrace

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from support.services.process import RunningService

FAILED_TOOL = {
    "op": "SPAN",
    "as": "failed",
    "where": {
        "op": "AND",
        "conditions": [
            {"op": "CONTAINS", "key": "error", "value": "no such parcel"},
            {"op": "FOLLOWED_BY", "as": "next", "where": {"op": "EQ", "key": "type", "value": "LLM"}},
        ],
    },
}


@pytest.fixture(scope="module")
def orders(service: RunningService) -> str:
    """The place of a trace with a failed tool, and a model call after it."""
    trace = MadeUpTrace()
    root = trace.add("Support.run", "AGENT", duration=10_000, attributes={"input.value": "Where is my parcel?"})
    step = trace.add("RunnableSequence", "CHAIN", parent=root, duration=900)
    trace.add("chat gpt-4.1", "LLM", parent=step, start=1, duration=400)
    model: dict[str, str | int] = {"llm.model_name": "parcel-model-1"}
    tool: dict[str, str | int] = {"tool.name": "parcels.find", "input.value": '{"id": 7}'}
    trace.add("find_order", "TOOL", parent=step, start=500, duration=20, error="no such parcel", attributes=tool)
    for number in range(5):
        trace.add("embed", "EMBEDDING", parent=root, start=1_000 + number * 10, duration=5)
    trace.add("chat parcels", "LLM", parent=root, start=9_900, duration=90, attributes=model)
    trace.send(service.http)
    return f"#/trace/{trace.trace_id}"


def rows(page: Page) -> Locator:
    """Returns the rows of spans that are in the page."""
    return page.locator('[role="treegrid"] [role="row"][aria-level]')


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_the_filter_of_the_list_marks_spans_and_keys_walk_them(
    visit: Callable[..., Page], service: RunningService, orders: str, theme: str, width: int
) -> None:
    query = quote(json.dumps(FAILED_TOOL, separators=(",", ":")))
    page = visit(service.url, f"#/traces?from=all&q={query}", theme=theme, width=width)
    page.locator(f'[data-row] a[href*="{orders}"]').click()
    expect(page).to_have_url(re.compile(f"{re.escape(orders)}.*q="))
    expect(page.get_by_text("2 matches", exact=True)).to_be_visible()
    marked = page.locator('[role="treegrid"] .isMatch')
    expect(marked).to_have_text(["find_order", "chat parcels"])
    walked = []
    for key in ("n", "n", "N"):
        page.keyboard.press(key)
        walked.append(re.sub(r"\s+", " ", str(page.evaluate("document.activeElement.textContent"))))
    assert "find_order" in walked[0]
    assert "chat parcels" in walked[1]
    assert "find_order" in walked[2]
    expect(page.get_by_text("1 of 2", exact=True)).to_be_visible()
    assert_accessible(page)
    take_picture(page, f"trace-matches-{theme}-{width}")
    page.get_by_label("Only matches").check()
    expect(rows(page).filter(has_text="embed")).to_have_count(0)
    page.get_by_role("button", name="Mark the matches of the filter no longer").click()
    expect(marked).to_have_count(0)
    expect(page).not_to_have_url(re.compile("q="))
    expect(rows(page).filter(has_text="embed")).to_have_count(1)


def test_what_is_searched_for_comes_before_the_filter(page: Page, orders: str) -> None:
    query = quote(json.dumps(FAILED_TOOL, separators=(",", ":")))
    page.goto(f"{page.url.split('#')[0]}{orders}?q={query}")
    marked = page.locator('[role="treegrid"] .isMatch')
    expect(marked).to_have_text(["find_order", "chat parcels"])
    page.keyboard.press("/")
    page.keyboard.type("RunnableSequence")
    expect(marked).to_have_text(["RunnableSequence"])
    page.keyboard.press("Escape")
    expect(marked).to_have_text(["find_order", "chat parcels"])
    expect(page).to_have_url(re.compile("q="))
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(marked).to_have_count(0)
    expect(page).not_to_have_url(re.compile("q="))
    expect(rows(page)).to_have_count(6)


@pytest.mark.parametrize(
    ("span", "same", "words"),
    [
        (4, "tool_name is parcels.find", "call of the tool parcels.find"),
        (10, "model is parcel-model-1", "span of the model parcel-model-1"),
        (10, "name is chat parcels", "span named chat parcels"),
    ],
)
def test_a_span_leads_to_the_traces_with_one_like_it(page: Page, orders: str, span: int, same: str, words: str) -> None:
    start = page.url.split("#")[0]
    page.goto(f"{start}{orders}?span={span:016x}")
    panel = page.get_by_label("Selected span")
    link = panel.get_by_role("link", name=f"Traces with a span like this: {same}")
    assert_accessible(page)
    take_picture(page, f"trace-like-{same}")
    link.click()
    expect(page).to_have_url(re.compile("#/traces"))
    expect(page.get_by_role("button", name=f"Edit: a {words}")).to_be_visible()
    page.goto(page.url + "&from=all")
    expect(page.locator(f'[data-row] a[href*="{orders}"]')).to_have_count(1)
    page.goto(f"{start}{orders}?span={span:016x}")
    panel.get_by_role("link", name=f"Traces without a span like this: {same}").click()
    expect(page.get_by_role("button", name=f"Edit: no {words}")).to_be_visible()


def test_an_attribute_leads_to_the_traces_with_a_span_like_its_own(page: Page, orders: str) -> None:
    page.goto(f"{page.url.split('#')[0]}{orders}?span={10:016x}&tab=attributes")
    tree = page.get_by_role("region", name="Attributes")
    tree.get_by_role("link", name="Traces with a span like this: model is parcel-model-1").first.click()
    expect(page.get_by_role("button", name="Edit: a span of the model parcel-model-1")).to_be_visible()
