"""One trace: the grid of its spans, its keys, its panel, and the message for a missing trace."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.pictures import take_picture
from support.clients.made_up_trace import MadeUpTrace, large_trace
from support.clients.tokens import as_caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from support.services.process import RunningService

MESSAGES = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Where is my **order**?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "function": {"name": "find_order", "arguments": '{"id": 7}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "no such order"},
]


@pytest.fixture(scope="module")
def orders(service: RunningService) -> str:
    """The place of a trace with a failed tool, a run of equal spans, steps of a framework, and idle time."""
    trace = MadeUpTrace()
    about: dict[str, str | int] = {"session.id": "s-orders", "user.id": "u-orders", "input.value": "Where is my order?"}
    root = trace.add("Support.run", "AGENT", duration=10_000, attributes=about)
    step = trace.add("RunnableSequence", "CHAIN", parent=root, duration=900)
    call: dict[str, str | int] = {
        "llm.model_name": "gpt-4.1",
        "llm.token_count.prompt": 800,
        "llm.token_count.completion": 40,
        "input.value": json.dumps({"messages": MESSAGES}),
        "input.mime_type": "application/json",
        "output.value": json.dumps([{"role": "assistant", "content": "I cannot find it."}]),
    }
    trace.add("chat gpt-4.1", "LLM", parent=step, start=1, duration=400, attributes=call)
    tool: dict[str, str | int] = {"tool.name": "find_order", "input.value": '{"id": 7}'}
    trace.add("find_order", "TOOL", parent=step, start=500, duration=20, error="no such order", attributes=tool)
    retry = {"key": "attempt", "value": {"intValue": "2"}}
    at = int(trace.spans[-1]["startTimeUnixNano"]) + 5_000_000
    trace.spans[-1]["events"] = [{"name": "retry", "timeUnixNano": str(at), "attributes": [retry]}]
    for number in range(5):
        trace.add("embed", "EMBEDDING", parent=root, start=1_000 + number * 10, duration=5)
    unheard: dict[str, str | int] = {"llm.model_name": "unheard-of", "llm.token_count.prompt": 5}
    trace.add("chat unheard-of", "LLM", parent=root, start=9_900, duration=90, attributes=unheard)
    trace.send(service.http)
    return f"#/trace/{trace.trace_id}"


def rows(page: Page) -> Locator:
    """Returns the visible span rows."""
    return page.locator('[role="treegrid"] [role="row"][aria-level]')


def row(page: Page, name: str) -> Locator:
    """Returns the visible span rows with this name."""
    return rows(page).filter(has_text=name)


def focused(page: Page) -> str:
    """Returns the text of the focused element."""
    return str(page.evaluate("document.activeElement.textContent"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_trace_is_a_grid_with_a_panel(
    visit: Callable[..., Page], service: RunningService, orders: str, theme: str
) -> None:
    page = visit(service.url, orders, theme=theme)
    expect(rows(page)).to_have_count(6)
    expect(page.get_by_role("treegrid")).to_have_attribute("aria-rowcount", "7")
    folded = row(page, "embed")
    expect(folded).to_contain_text("\u00d75")
    expect(folded).to_have_attribute("aria-level", "2")
    expect(folded).to_have_attribute("aria-posinset", "2")
    expect(folded).to_have_attribute("aria-setsize", "3")
    expect(folded).to_have_attribute("aria-rowindex", "6")
    expect(page.get_by_role("heading", name="Support.run").first).to_be_visible()
    expect(page.get_by_role("tabpanel")).to_contain_text("Where is my order?")
    expect(page.get_by_text("at least $0.0019")).to_be_visible()
    assert_accessible(page)
    take_picture(page, f"trace-{theme}")
    row(page, "chat gpt-4.1").click()
    expect(page.get_by_role("tab", name="Messages")).to_have_attribute("aria-selected", "true")
    assert_accessible(page)
    take_picture(page, f"trace-messages-{theme}")


def test_every_key_does_what_the_list_of_keys_says(page: Page, orders: str) -> None:
    page.goto(page.url.split("#")[0] + orders)
    expect(rows(page)).to_have_count(6)
    page.keyboard.press("j")
    assert "RunnableSequence" in focused(page)
    page.keyboard.press("k")
    assert "Support.run" in focused(page)
    page.keyboard.press("End")
    assert "chat unheard-of" in focused(page)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(rows(page)).to_have_count(4)
    page.keyboard.press("ArrowRight")
    expect(rows(page)).to_have_count(6)
    page.keyboard.press("ArrowRight")
    assert "chat gpt-4.1" in focused(page)
    page.keyboard.press("ArrowLeft")
    assert "RunnableSequence" in focused(page)
    page.keyboard.press("[")
    expect(rows(page)).to_have_count(1)
    assert "Support.run" in focused(page)
    page.keyboard.press("]")
    expect(rows(page)).to_have_count(11)
    page.keyboard.press("e")
    assert "find_order" in focused(page)
    expect(page.get_by_label("Selected span").get_by_text("no such order")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("chat")
    expect(page.get_by_text("2 matches")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 2")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    assert "chat gpt-4.1" in focused(page)
    page.keyboard.press("N")
    assert "chat unheard-of" in focused(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", selected=True)).to_be_focused()
    page.keyboard.press("Escape")
    assert "chat unheard-of" in focused(page)
    page.keyboard.press("z")
    expect(page).to_have_url(re.compile("zoom=9900000-9990000"))
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search names")).to_have_value("")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("zoom="))
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("#/traces"))


def test_the_focus_survives_a_row_that_leaves_the_window(page: Page, service: RunningService) -> None:
    trace = large_trace(2_000)
    trace.send(service.http)
    page.goto(f"{page.url.split('#')[0]}#/trace/{trace.trace_id}?fold=off")
    expect(page.get_by_role("treegrid")).to_have_attribute("aria-rowcount", "2001")
    rows(page).nth(2).click()
    name = focused(page)
    page.get_by_role("rowgroup").evaluate("(scroller) => { scroller.scrollTop = 20000; }")
    expect(page.locator('[aria-rowindex="780"]')).to_be_attached()
    assert focused(page) == name
    assert rows(page).count() < 200
    page.keyboard.press("ArrowDown")
    expect(page.locator('[aria-rowindex="5"]')).to_be_focused()


def test_every_state_has_a_place_in_the_address(
    visit: Callable[..., Page], service: RunningService, orders: str
) -> None:
    place = f"{orders}?view=key&find=order&only=matches&span={4:016x}&tab=texts&as=json&zoom=0-2000000"
    page = visit(service.url, place)
    expect(rows(page)).to_have_count(2)
    expect(row(page, "find_order")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("button", name="Key spans")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="JSON").last).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("checkbox", name="Only matches")).to_be_checked()
    row(page, "Support.run").click()
    expect(page).to_have_url(re.compile(f"span={1:016x}"))
    page.reload()
    expect(row(page, "Support.run")).to_have_attribute("aria-selected", "true")


def test_steps_of_frameworks_are_hidden_and_idle_time_is_folded(page: Page, orders: str) -> None:
    page.goto(page.url.split("#")[0] + orders)
    page.get_by_role("button", name="Key spans").click()
    expect(page.get_by_role("button", name="Key spans")).to_contain_text("1 hidden")
    expect(row(page, "RunnableSequence")).to_have_count(0)
    expect(row(page, "find_order")).to_have_attribute("aria-level", "2")
    page.get_by_role("button", name="Fold idle time").click()
    expect(page).to_have_url(re.compile("idle=folded"))
    expect(page.get_by_title("idle, folded")).to_have_count(1)


def test_messages_stand_with_the_results_of_their_tools(page: Page, orders: str) -> None:
    page.goto(f"{page.url.split('#')[0]}{orders}?span={3:016x}")
    panel = page.get_by_role("tabpanel")
    messages = panel.locator("details")
    expect(messages).to_have_count(4)
    expect(panel.locator("details[open]")).to_have_count(2)
    expect(panel.locator("details[open]").first).to_contain_text("no such order")
    expect(panel.locator("details[open]").last).to_contain_text("I cannot find it.")
    messages.nth(1).locator("summary").click()
    expect(messages.nth(1)).to_contain_text("**order**")
    panel.get_by_role("button", name="Markdown").click()
    expect(messages.nth(1).locator("strong")).to_have_text("order")


def test_events_are_shown_with_their_times(page: Page, orders: str) -> None:
    page.goto(f"{page.url.split('#')[0]}{orders}?span={4:016x}&tab=events")
    panel = page.get_by_role("tabpanel")
    expect(panel.get_by_role("heading", name="retry")).to_contain_text("after 5 ms")
    expect(panel).to_contain_text("attempt")


def test_a_long_value_is_read_in_parts(page: Page, service: RunningService) -> None:
    trace = MadeUpTrace()
    value = "é one line without an end " * 155_000
    trace.add("read_file", "TOOL", attributes={"input.value": "[" * 10_000 + "]" * 10_000, "output.value": value})
    trace.send(service.http)
    page.goto(f"{page.url.split('#')[0]}#/trace/{trace.trace_id}?as=json")
    panel = page.get_by_role("tabpanel")
    expect(panel.get_by_text("64 KiB of 4 MiB")).to_be_visible()
    assert page.evaluate("document.body.textContent.length") < 20_000
    panel.get_by_role("button", name="Show the next part").click()
    expect(panel.get_by_text("128 KiB of 4 MiB")).to_be_visible()
    assert page.evaluate("document.body.textContent.length") < 20_000
    expect(panel.get_by_role("region", name="Input")).to_be_visible()


def test_attributes_are_filtered_by_key_and_lead_to_traces(page: Page, orders: str) -> None:
    page.goto(f"{page.url.split('#')[0]}{orders}?tab=attributes")
    tree = page.get_by_role("region", name="Attributes")
    expect(tree).to_contain_text("session_id")
    page.get_by_label("Filter attributes by key").fill("user")
    expect(tree).not_to_contain_text("session_id")
    link = tree.get_by_role("link", name="Traces where user_id is u-orders")
    link.click()
    expect(page).to_have_url(re.compile("#/traces"))
    assert '{"op":"EQ","key":"user_id","value":"u-orders"}' in page.evaluate("decodeURIComponent(location.hash)")


@pytest.mark.parametrize(
    ("span", "cost", "words"),
    [
        (1, "at least $0.0019", "Tokens count once"),
        (3, "$0.0019", "at the prices of gpt-4.1 as of"),
        (10, "unknown", "The service has no price for model unheard-of"),
    ],
    ids=["subtree", "call", "call without a price"],
)
def test_costs_are_those_of_the_service(page: Page, orders: str, span: int, cost: str, words: str) -> None:
    page.goto(f"{page.url.split('#')[0]}{orders}?span={span:016x}&tab=tokens")
    panel = page.get_by_label("Selected span")
    expect(panel.get_by_role("row", name="Cost")).to_contain_text(cost)
    expect(panel).to_contain_text(words)
    head = page.get_by_role("main").locator("dl").first
    expect(head).to_contain_text("at least $0.0019")
    expect(head).to_contain_text("no price for unheard-of")
    assert_accessible(page)


def test_what_is_copied_names_the_token_but_does_not_hold_it(
    visit: Callable[..., Page], guarded: RunningService, admin_token: str
) -> None:
    trace = MadeUpTrace()
    trace.add("run", "AGENT")
    for body in trace.requests():
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {admin_token}"}
        assert guarded.http.post("/v1/traces", content=body, headers=headers).status_code == 200
    rights = ["clipboard-read", "clipboard-write"]
    page = visit(guarded.url, f"#/trace/{trace.trace_id}", token=admin_token, permissions=rights)
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="curl").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    expected = f"curl -sS -H \"Authorization: Bearer $SPANWISE_TOKEN\" '{guarded.url}/traces/{trace.trace_id}'"
    assert copied == expected
    page.keyboard.press("c")
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_attached()
    assert f"#/trace/{trace.trace_id}" in page.evaluate("navigator.clipboard.readText()")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert json.loads(download.value.path().read_text())["trace_id"] == trace.trace_id


def test_what_is_not_there_is_said(visit: Callable[..., Page], service: RunningService, orders: str) -> None:
    page = visit(service.url, f"#/trace/{'0e' * 16}", expected=["status of 404"])
    expect(page.get_by_role("heading", name="No such trace")).to_be_visible()
    assert_accessible(page)
    page = visit(service.url, f"{orders}?span=gone")
    expect(page.get_by_label("Selected span")).to_contain_text("This trace has no span gone")
    page.get_by_role("button", name="Show the first span").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Where is my order?")


def test_what_a_token_may_not_see_is_said(visit: Callable[..., Page], guarded: RunningService) -> None:
    token = as_caller("mara", "sessions:read")["Authorization"].removeprefix("Bearer ")
    page = visit(guarded.url, f"#/trace/{'0f' * 16}", token=token, expected=["status of 403"])
    expect(page.get_by_text("traces:read")).to_be_visible()
    assert_accessible(page)


def test_a_service_that_stops_is_said_by_the_panel(
    visit: Callable[..., Page], start: Callable[..., RunningService]
) -> None:
    running = start()
    trace = MadeUpTrace()
    root = trace.add("run", "AGENT", attributes={"input.value": "the first"})
    trace.add("find_order", "TOOL", parent=root, attributes={"input.value": "the second"})
    trace.send(running.http)
    page = visit(running.url, f"#/trace/{trace.trace_id}", expected=["ERR_CONNECTION_REFUSED"])
    expect(page.get_by_role("tabpanel")).to_contain_text("the first")
    assert running.stop() == 0
    row(page, "find_order").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    again = start("--port", str(running.port), is_ready=False)
    again.http.base_url = running.url
    again.wait_until_ready()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("the second")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_phone_shows_a_trace(visit: Callable[..., Page], service: RunningService, orders: str, width: int) -> None:
    page = visit(service.url, orders, width=width)
    expect(rows(page)).to_have_count(6)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    take_picture(page, f"trace-{width}")
    row(page, "find_order").click()
    expect(page.get_by_label("Selected span")).to_contain_text("no such order")
    assert_accessible(page)
