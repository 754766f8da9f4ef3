"""The path from the list to a trace with its matching spans marked, and from a span to similar ones.

Conditions on attributes are also tested here, in links and in filter forms.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.filters import expect_newest, expect_total, filter_of, place
from support.browser.held import hold_requests
from support.browser.pictures import take_picture
from support.clients.made_up_trace import MadeUpTrace
from support.services.browsed import copy_data_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    trace.resource = {"parcels.depot": "north", "parcels.canary": True}
    about: dict[str, str | int] = {"input.value": "Where is my parcel?", "parcels.tier": "gold", "parcels.weight": 7}
    root = trace.add("Support.run", "AGENT", duration=10_000, attributes=about)
    step = trace.add("RunnableSequence", "CHAIN", parent=root, duration=900)
    trace.add("chat gpt-4.1", "LLM", parent=step, start=1, duration=400)
    model: dict[str, str | int] = {"llm.model_name": "parcel-model-1", "llm.provider": "parcel-post"}
    tool: dict[str, str | int] = {"tool.name": "parcels.find", "input.value": '{"id": 7}'}
    trace.add("find_order", "TOOL", parent=step, start=500, duration=20, error="no such parcel", attributes=tool)
    for number in range(5):
        trace.add("embed", "EMBEDDING", parent=root, start=1_000 + number * 10, duration=5)
    trace.add("chat parcels", "LLM", parent=root, start=9_900, duration=90, attributes=model)
    trace.send(service.http)
    return f"#/trace/{trace.trace_id}"


def rows(page: Page) -> Locator:
    """Returns the visible span rows."""
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
    expect(link).to_be_visible()
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


@pytest.mark.parametrize(
    ("span", "same", "condition"),
    [
        (1, "attributes.parcels.tier is gold", {"op": "EQ", "key": "attributes.parcels.tier", "value": "gold"}),
        (1, "attributes.parcels.weight is 7", {"op": "EQ", "key": "attributes.parcels.weight", "value": 7}),
        (1, "resource.parcels.depot is north", {"op": "EQ", "key": "resource.parcels.depot", "value": "north"}),
        (4, "resource.parcels.canary is true", {"op": "EQ", "key": "resource.parcels.canary", "value": True}),
        (10, "provider is parcel-post", {"op": "EQ", "key": "provider", "value": "parcel-post"}),
        (10, "model is parcel-model-1", {"op": "EQ", "key": "model", "value": "parcel-model-1"}),
    ],
)
def test_an_attribute_leads_to_the_traces_with_a_span_like_its_own(
    page: Page, orders: str, span: int, same: str, condition: dict[str, Any]
) -> None:
    trace = f"{page.url.split('#')[0]}{orders}?span={span:016x}&tab=attributes"
    page.goto(trace)
    tree = page.get_by_role("region", name="Attributes")
    link = tree.get_by_role("link", name=f"Traces with a span like this: {same}").first
    link.scroll_into_view_if_needed()
    assert_accessible(page)
    take_picture(page, f"trace-attribute-{same}")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 800})
    link.scroll_into_view_if_needed()
    assert_accessible(page)
    take_picture(page, f"trace-attribute-{same}-390")
    link.press("Enter")
    expect(page).to_have_url(re.compile("#/traces"))
    found = {"op": "SPAN", "where": condition}
    assert filter_of(page) == found
    page.goto(page.url + "&from=all")
    expect(page.locator(f'[data-row] a[href*="{orders}"]')).to_have_count(1)
    page.goto(trace)
    tree.get_by_role("link", name=f"Traces without a span like this: {same}").first.click()
    expect(page.get_by_role("button", name="Edit: no span ")).to_be_visible()
    assert filter_of(page) == {"op": "NOT", "condition": found}


@pytest.fixture
def unindexed(start: Callable[..., RunningService], filled: Path, tmp_path: Path) -> RunningService:
    """A service with the usual traces, but without an index of attributes."""
    copy_data_folder(filled, tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "traces" / "cache")
    return start("--no-index-attributes")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_list_of_keys_says_of_how_many_traces_it_knows_nothing(
    visit: Callable[..., Page], unindexed: RunningService, theme: str, width: int
) -> None:
    service = unindexed
    uncounted = service.http.get("/traces/attributes").raise_for_status().json()["meta"]["uncounted"]
    assert uncounted > 20_000
    page = visit(service.url, "#/traces?from=all", theme=theme, width=width)
    expect(page.locator("[data-row]")).to_have_count(50)
    page.keyboard.press("f")
    form = page.get_by_role("dialog", name="Add: filter")
    expect(form.get_by_label("Field")).to_be_focused()
    page.keyboard.type("Attribute")
    page.keyboard.press("Tab")
    key = form.get_by_role("combobox", name="Key of the attribute")
    expect(key).to_be_focused()
    page.keyboard.type("gen_ai.")
    note = form.get_by_text(f"{uncounted:,} more traces are not indexed: keys that only they have are missing.")
    expect(note).to_be_visible()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take_picture(page, f"traces-attribute-uncounted-{theme}-{width}")
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    expect(form).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_a_condition_on_an_attribute_is_made_and_changed_by_keys(
    visit: Callable[..., Page], service: RunningService, orders: str, theme: str, width: int
) -> None:
    page = visit(service.url, "#/traces?from=all", theme=theme, width=width)
    expect(page.locator("[data-row]")).to_have_count(50)
    page.keyboard.press("f")
    form = page.get_by_role("dialog", name="Add: filter")
    expect(form.get_by_label("Field")).to_be_focused()
    page.keyboard.type("Attribute")
    page.keyboard.press("Tab")
    key = form.get_by_role("combobox", name="Key of the attribute")
    expect(key).to_be_focused()
    page.keyboard.type("parcels.")
    options = form.get_by_role("listbox", name="Keys that occur").get_by_role("option")
    expect(options).to_have_text(["parcels.tier 1 trace", "parcels.weight 1 trace"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(key).to_have_attribute("aria-activedescendant", options.nth(1).get_attribute("id") or "")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take_picture(page, f"traces-attribute-keys-{theme}-{width}")
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(form).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(options).to_have_count(2)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(key).to_have_value("parcels.weight")
    expect(options).to_have_count(0)
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(form.get_by_label("Value", exact=True)).to_be_focused()
    page.keyboard.type("7")
    expect(form.get_by_text("Compared as a text. Choose “number”")).to_be_visible()
    assert_accessible(page)
    take_picture(page, f"traces-attribute-form-{theme}-{width}")
    form.get_by_label("Type of the value").select_option("number")
    expect(form.get_by_text("Compared as a text. Choose “number”")).to_have_count(0)
    form.get_by_label("Value", exact=True).press("Enter")
    seven = {"op": "EQ", "key": "attributes.parcels.weight", "value": 7}
    expect_total(page, service, seven)
    assert filter_of(page) == seven
    expect(page.locator(f'[data-row] a[href*="{orders}"]')).to_have_count(1)
    page.get_by_role("button", name="Edit: attributes.parcels.weight is 7").press("Enter")
    edit = page.get_by_role("dialog", name="Edit: attributes.parcels.weight is 7")
    expect(edit.get_by_label("Value", exact=True)).to_be_focused()
    expect(edit.get_by_label("Type of the value")).to_have_value("number")
    edit.get_by_label("Operator").select_option("LT")
    edit.get_by_role("button", name="Apply").press("Enter")
    expect(page.get_by_role("button", name="Edit: attributes.parcels.weight is less than 7")).to_be_visible()
    assert filter_of(page) == {**seven, "op": "LT"}


@pytest.mark.usefixtures("orders")
def test_a_span_is_asked_for_by_its_attributes_and_those_of_its_resource(
    visit: Callable[..., Page], service: RunningService
) -> None:
    gold = {"op": "EQ", "key": "attributes.parcels.tier", "value": "gold"}
    page = visit(service.url, place({"op": "SPAN", "where": gold}))
    chip = "a span where attributes.parcels.tier is gold"
    page.get_by_role("button", name=f"Edit: {chip}").click()
    span = page.get_by_role("dialog", name=f"Edit: {chip}").get_by_role("group", name="The span")
    span.get_by_role("button", name="+ And").press("Enter")
    second = span.get_by_role("group", name="Condition 2")
    second.get_by_label("Field").select_option("resource.")
    second.get_by_label("Value", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Enter the key of an attribute.")
    second.get_by_label("Key of the resource attribute").fill("parcels.c")
    take_picture(page, "traces-attribute-span")
    second.get_by_role("listbox").get_by_role("option", name="parcels.canary 1 trace").click()
    expect(second.get_by_label("Key of the resource attribute")).to_be_focused()
    second.get_by_label("Type of the value").select_option("boolean")
    expect(second.get_by_label("Value", exact=True)).to_have_value("true")
    assert_accessible(page)
    second.get_by_label("Key of the resource attribute").press("Enter")
    canary = {"op": "EQ", "key": "resource.parcels.canary", "value": True}
    both = {"op": "SPAN", "where": {"op": "AND", "conditions": [gold, canary]}}
    expect(page.get_by_text(f"{chip} and resource.parcels.canary is true")).to_be_visible()
    assert filter_of(page) == both
    expect_newest(page, service, both)


@pytest.mark.usefixtures("orders")
def test_keys_are_asked_for_once_nothing_is_typed_and_the_last_answer_counts(
    visit: Callable[..., Page], service: RunningService
) -> None:
    page = visit(service.url, "#/traces?from=all")
    page.get_by_role("button", name="Add: filter").click()
    form = page.get_by_role("dialog", name="Add: filter")
    form.get_by_label("Field").select_option("attributes.")
    held = hold_requests(page, "**/traces/attributes*")
    key = form.get_by_label("Key of the attribute")
    with page.expect_request("**/traces/attributes*"):
        key.focus()
    last = "prefix=attributes.parcels.w&limit=12"
    with page.expect_event("requestfailed"), page.expect_request(lambda request: request.url.endswith(last)):
        key.press_sequentially("parcels.w")
    assert len(held) < len("parcels.w")
    expect(form.get_by_role("listbox", name="Keys that occur").get_by_role("option")).to_have_count(0)
    held[-1].continue_()
    expect(form.get_by_role("listbox", name="Keys that occur").get_by_role("option")).to_have_text(
        ["parcels.weight 1 trace"]
    )


def test_values_of_two_types_stay_json(visit: Callable[..., Page], service: RunningService) -> None:
    mixed = {"op": "IN", "key": "attributes.parcels.weight", "values": ["7", 7]}
    page = visit(service.url, place(mixed))
    page.get_by_role("button", name="Edit: attributes.parcels.weight is one of “7”, 7").click()
    form = page.get_by_role("dialog", name="Edit: attributes.parcels.weight")
    expect(form.get_by_text("This form cannot show all of the condition")).to_be_visible()
    form.get_by_role("button", name="Edit as JSON").press("Enter")
    expect(page.get_by_label("Filter as JSON")).to_have_value(re.compile('"7",\\s*7'))
    assert filter_of(page) == mixed
