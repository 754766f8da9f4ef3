"""The trace filter: chips, groups and JSON as views of one filter; conditions on spans; facets; recent filters."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.filters import expect_newest, expect_total, filter_of, place
from support.browser.held import hold_requests
from support.browser.pictures import take_picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from support.services.process import RunningService

FAILED = {"op": "EQ", "key": "status", "value": "ERROR"}
NESTED = {
    "op": "AND",
    "conditions": [
        FAILED,
        {
            "op": "NOT",
            "condition": {
                "op": "OR",
                "conditions": [
                    {"op": "GTE", "key": "duration_ms", "value": 500},
                    {"op": "EXISTS", "key": "team_id"},
                ],
            },
        },
    ],
}


TOOL = {"op": "EQ", "key": "type", "value": "TOOL"}
LLM = {"op": "EQ", "key": "type", "value": "LLM"}
THEN_LLM = {"op": "FOLLOWED_BY", "where": LLM}
FAILED_TOOL = {"op": "SPAN", "where": {"op": "AND", "conditions": [TOOL, FAILED, THEN_LLM]}}


def test_a_condition_is_added_changed_and_taken_away_by_keys(
    visit: Callable[..., Page], service: RunningService
) -> None:
    page = visit(service.url, "#/traces?from=all")
    expect(page.locator("[data-row]")).to_have_count(50)
    page.keyboard.press("f")
    form = page.get_by_role("dialog", name="Add: filter")
    form.get_by_label("Field").select_option("duration_ms")
    assert_accessible(page)
    form.get_by_label("Value").focus()
    page.keyboard.type("2000")
    page.keyboard.press("Enter")
    slow = {"op": "GTE", "key": "duration_ms", "value": 2000}
    expect(page.get_by_text("Duration (ms) is at least 2,000")).to_be_visible()
    assert filter_of(page) == slow
    expect_total(page, service, slow)
    page.get_by_role("button", name="Edit: Duration").focus()
    page.keyboard.press("Enter")
    edit = page.get_by_role("dialog", name="Edit: Duration")
    edit.get_by_label("Operator").select_option("LT")
    edit.get_by_role("button", name="Apply").press("Enter")
    expect_total(page, service, {**slow, "op": "LT"})
    page.get_by_role("button", name="Take away: Duration").press("Enter")
    expect_total(page, service, None)
    page.go_back()
    expect_total(page, service, {**slow, "op": "LT"})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ERROR", FAILED),
        ("Run", {"op": "NOT", "condition": {"op": "CONTAINS", "key": "name", "value": "Run"}}),
        (None, {"op": "NOT", "condition": {"op": "EXISTS", "key": "team_id"}}),
        ("2026-11-22T01:02:03", {"op": "LT", "key": "start_time", "value": "2026-11-22T01:02:03.000Z"}),
    ],
)
def test_every_type_of_value(
    visit: Callable[..., Page], service: RunningService, value: str | None, expected: dict[str, Any]
) -> None:
    negated = expected["op"] == "NOT"
    condition = expected["condition"] if negated else expected
    page = visit(service.url, "#/traces?from=all")
    page.get_by_role("button", name="Add: filter").click()
    form = page.get_by_role("dialog", name="Add: filter")
    form.get_by_label("Field").select_option(condition["key"])
    form.get_by_label("Operator").select_option(("NOT " if negated else "") + condition["op"])
    field = form.get_by_label(re.compile("^Value"))
    if condition["key"] == "status":
        field.select_option(value)
    elif value is not None:
        field.fill(value)
    form.get_by_role("button", name="Add filter").click()
    expect_total(page, service, expected)
    assert filter_of(page) == expected


def test_a_form_that_is_opened_before_the_fields_are_known(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/status")
    expect(page.get_by_role("heading", name="Store default")).to_be_visible()
    held = hold_requests(page, "**/traces/filter-schema*")
    page.get_by_role("link", name="Traces", exact=True).click()
    page.get_by_role("button", name="Add: filter").click()
    form = page.get_by_role("dialog", name="Add: filter")
    expect(form.get_by_text("The fields of this service are not known yet.")).to_be_visible()
    (route,) = held
    route.continue_()
    form.get_by_label("Field").select_option("agent_id")


def test_several_values_and_their_suggestions(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    page.get_by_role("button", name="Add: filter").click()
    form = page.get_by_role("dialog", name="Add: filter")
    form.get_by_label("Field").select_option("agent_id")
    form.get_by_label("Operator").select_option("IN")
    field = form.get_by_label("Another value")
    field.focus()
    facet = service.http.post("/traces/facets", json={"fields": ["agent_id"], "limit": 2}).json()["data"]["agent_id"]
    values = [each["value"] for each in facet["values"]]
    for value in values:
        field.fill(value[:3])
        expect(form.locator(f"datalist option[value='{value}']")).to_have_count(1)
        field.fill(value)
        field.press("Enter")
        expect(form.get_by_role("button", name=f"Take out {value}")).to_be_visible()
    assert_accessible(page)
    form.get_by_role("button", name="Add filter").click()
    expect_total(page, service, {"op": "IN", "key": "agent_id", "values": values})


def test_groups_are_edited(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, place(NESTED, edit="groups"))
    expect_total(page, service, NESTED)
    editor = page.get_by_role("region", name="Filter editor")
    expect(editor.get_by_role("group", name="Any of")).to_be_visible()
    assert_accessible(page)
    take_picture(page, "traces-groups")
    editor.get_by_role("group", name="Any of").get_by_label("How the conditions are combined").select_option("AND")
    changed = json.loads(json.dumps(NESTED).replace('"OR"', '"AND"'))
    expect_total(page, service, changed)
    editor.get_by_role("button", name="Drop “not”").click()
    flat = {"op": "AND", "conditions": [FAILED, changed["conditions"][1]["condition"]]}
    expect_total(page, service, flat)
    assert filter_of(page) == flat


def test_json_is_applied_and_what_is_wrong_is_marked(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all&edit=json", expected=["status of 400"])
    text = page.get_by_label("Filter as JSON")
    text.fill('{"op": "EQ", "key": nme}')
    text.press("Control+Enter")
    expect(page.locator("mark")).to_have_text("nme")
    text.fill(json.dumps(NESTED))
    page.get_by_role("button", name="Apply").click()
    expect_total(page, service, NESTED)
    assert filter_of(page) == NESTED
    text.fill(json.dumps(NESTED).replace("team_id", "teem_id"))
    text.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="unknown field `teem_id`")).to_be_visible()
    expect(page.locator("mark")).to_have_text('"teem_id"')
    expect(page.get_by_role("img", name="Refused")).to_have_count(1)
    assert_accessible(page)
    take_picture(page, "traces-refused")
    page.get_by_role("button", name="Groups").click()
    editor = page.get_by_role("region", name="Filter editor")
    expect(editor.get_by_role("img", name="Refused")).to_have_count(1)
    expect(editor.get_by_text("teem_id is present")).to_be_visible()


def test_what_no_editor_knows_is_shown_and_kept(visit: Callable[..., Page], service: RunningService) -> None:
    unknown = {"op": "SOMEDAY", "where": {"op": "EQ", "key": "tool_name", "value": "refund"}}
    page = visit(
        service.url, place({"op": "AND", "conditions": [unknown, FAILED]}, edit="groups"), expected=["status of 400"]
    )
    editor = page.get_by_role("region", name="Filter editor")
    expect(editor.get_by_text('"op":"SOMEDAY"')).to_be_visible()
    editor.get_by_role("button", name="Take away: Status is ERROR").click()
    expect(editor.get_by_role("button", name="Take away: Status is ERROR")).to_have_count(0)
    assert filter_of(page) == {"op": "AND", "conditions": [unknown]}


def test_a_link_without_a_readable_filter(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, place('{"op": '))
    expect(page.get_by_role("alert")).to_contain_text("no JSON object")
    page.get_by_role("button", name="Show as JSON").click()
    expect(page.get_by_label("Filter as JSON")).to_have_value('{"op": ')
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("[data-row]")).to_have_count(50)


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_a_condition_on_spans_is_made_and_changed_by_keys(
    visit: Callable[..., Page], service: RunningService, theme: str, width: int
) -> None:
    page = visit(service.url, "#/traces?from=all", theme=theme, width=width)
    expect(page.locator("[data-row]")).to_have_count(50)
    page.keyboard.press("f")
    form = page.get_by_role("dialog", name="Add: filter")
    expect(form.get_by_label("Field")).to_be_focused()
    page.keyboard.type("A span that")
    span = form.get_by_role("group", name="The span")
    for _ in range(5):
        page.keyboard.press("Tab")
    expect(span.get_by_label("Value")).to_be_focused()
    page.keyboard.type("TOOL")
    span.get_by_role("button", name="+ And").press("Enter")
    second = span.get_by_role("group", name="Condition 2")
    expect(second.get_by_label("Field")).to_be_focused()
    page.keyboard.type("Status")
    second.get_by_label("Value").select_option("ERROR")
    form.get_by_label("How the span is related to another").select_option("FOLLOWED_BY")
    form.get_by_role("group", name="Another span").get_by_label("Value").fill("LLM")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take_picture(page, f"traces-span-form-{theme}-{width}")
    form.get_by_role("group", name="Another span").get_by_label("Value").press("Enter")
    expect(page.get_by_text("a tool span fails, then an LLM span")).to_be_visible()
    assert filter_of(page) == FAILED_TOOL
    expect_newest(page, service, FAILED_TOOL)
    take_picture(page, f"traces-span-chip-{theme}-{width}")
    page.get_by_role("button", name="Edit: a tool span fails, then an LLM span").press("Enter")
    edit = page.get_by_role("dialog", name="Edit: a tool span")
    expect(edit.get_by_role("group", name="The span").get_by_label("Value").first).to_be_focused()
    expect(edit.get_by_role("group", name="The span").get_by_label("Value").first).to_have_value("TOOL")
    expect(edit.get_by_label("How the span is related to another")).to_have_value("FOLLOWED_BY")
    edit.get_by_label("How the span is related to another").select_option("")
    edit.get_by_label("Least number").fill("2")
    edit.get_by_label("Least number").press("Enter")
    expect(page.get_by_text("at least 2 tool spans fail")).to_be_visible()
    twice = {"op": "SPAN", "at_least": 2, "where": {"op": "AND", "conditions": [TOOL, FAILED]}}
    assert filter_of(page) == twice
    expect_newest(page, service, twice)


@pytest.mark.parametrize(
    ("count", "numbers", "relation"),
    [
        ("AT_MOST", {"at_most": 2}, ""),
        ("BETWEEN", {"at_least": 2, "at_most": 3}, "NOT PRECEDED_BY"),
        ("NONE", {}, "ANCESTOR"),
        ("AT_LEAST", {}, "NOT PARENT"),
        ("AT_LEAST", {"at_least": 4}, "NOT CHILD"),
        ("AT_LEAST", {}, "DESCENDANT"),
    ],
)
def test_every_count_and_relation_is_what_the_service_takes(
    visit: Callable[..., Page], service: RunningService, count: str, numbers: dict[str, int], relation: str
) -> None:
    page = visit(service.url, "#/traces?from=all")
    page.get_by_role("button", name="Add: filter").click()
    form = page.get_by_role("dialog", name="Add: filter")
    form.get_by_label("Field").select_option("SPAN")
    form.get_by_role("combobox", name="How often").select_option(count)
    for member, number in numbers.items():
        form.get_by_label("Least number" if member == "at_least" else "Greatest number").fill(str(number))
    form.get_by_role("group", name="The span").get_by_label("Value").fill("TOOL")
    form.get_by_label("How the span is related to another").select_option(relation)
    if relation:
        form.get_by_role("group", name="Another span").get_by_label("Value").fill("LLM")
    form.get_by_role("button", name="Add filter").click()
    expect(page.get_by_role("button", name="Edit: ")).to_have_count(1)
    axis = {"op": relation.removeprefix("NOT "), "where": LLM}
    related = {"op": "NOT", "condition": axis} if relation.startswith("NOT ") else axis
    where = {"op": "AND", "conditions": [TOOL, related]} if relation else TOOL
    least = {"at_least": 0} if count == "AT_MOST" else {}
    span = {"op": "SPAN", **least, **numbers, "where": where}
    expected = {"op": "NOT", "condition": span} if count == "NONE" else span
    assert filter_of(page) == expected
    expect_newest(page, service, expected)


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_the_options_of_a_relation_are_words_and_fields_of_the_form(
    visit: Callable[..., Page], service: RunningService, theme: str, width: int
) -> None:
    again = {"op": "FOLLOWED_BY", "same": ["tool_name"], "without": LLM, "where": TOOL}
    # Document checks decide conditions that the span table cannot. One agent has few documents.
    of_one = {"op": "EQ", "key": "agent_id", "value": "macro_writer"}
    span = {"op": "SPAN", "where": {"op": "AND", "conditions": [TOOL, again]}}
    page = visit(service.url, place({"op": "AND", "conditions": [of_one, span]}), theme=theme, width=width)
    chip = "Edit: a tool span, then a tool span with the same Tool and no LLM span between"
    page.get_by_role("button", name=chip).click()
    form = page.get_by_role("dialog", name=chip)
    other = form.get_by_role("group", name="More conditions on the two spans")
    expect(other.get_by_label("How their times are compared")).to_have_value("end")
    expect(other.get_by_label("only beside it")).not_to_be_checked()
    expect(other.get_by_text("the same Tool")).to_be_visible()
    expect(other.get_by_label("no span between the two with")).to_be_checked()
    expect(other.get_by_role("group", name="Condition 1").get_by_label("Value")).to_have_value("LLM")
    other.scroll_into_view_if_needed()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take_picture(page, f"traces-relation-form-{theme}-{width}")
    other.get_by_label("How their times are compared").select_option("start")
    other.get_by_label("only beside it").check()
    other.get_by_label("Add a field that is the same").select_option("status")
    other.get_by_role("button", name="Take out the same Tool").press("Enter")
    expect(other.get_by_label("Add a field that is the same")).to_be_focused()
    other.get_by_label("no span between the two with").uncheck()
    form.get_by_role("button", name="Apply").click()
    words = "a tool span, started earlier than a tool span with the same Status beside it"
    expect(page.get_by_role("button", name=f"Edit: {words}")).to_be_visible()
    changed = {"op": "FOLLOWED_BY", "from": "start", "scope": "siblings", "same": ["status"], "where": TOOL}
    span = {"op": "SPAN", "where": {"op": "AND", "conditions": [TOOL, changed]}}
    expected = {"op": "AND", "conditions": [of_one, span]}
    assert filter_of(page) == expected
    expect_newest(page, service, expected)
    take_picture(page, f"traces-relation-chip-{theme}-{width}")
    # Another relation does not use these values.
    page.get_by_role("button", name=f"Edit: {words}").click()
    edit = page.get_by_role("dialog", name=f"Edit: {words}")
    edit.get_by_label("How the span is related to another").select_option("CHILD")
    expect(edit.get_by_role("group", name="More conditions on the two spans")).to_have_count(0)
    edit.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("button", name="Edit: a tool span, directly above a tool span")).to_be_visible()


def test_what_the_form_of_spans_cannot_show_stays_json(visit: Callable[..., Page], service: RunningService) -> None:
    either = {"op": "SPAN", "where": {"op": "OR", "conditions": [TOOL, {"op": "CHILD", "where": LLM}]}}
    page = visit(service.url, place({"op": "AND", "conditions": [FAILED, either]}))
    chip = "a span where Type is TOOL or directly above an LLM span"
    page.get_by_role("button", name=f"Edit: {chip}").click()
    form = page.get_by_role("dialog", name=f"Edit: {chip}")
    expect(form.get_by_text("This form cannot show all of the condition")).to_be_visible()
    assert_accessible(page)
    form.get_by_role("button", name="Edit as JSON").press("Enter")
    expect(page.get_by_label("Filter as JSON")).to_have_value(re.compile('"CHILD"'))
    page.get_by_role("button", name="Groups").click()
    editor = page.get_by_role("region", name="Filter editor")
    editor.get_by_role("button", name=f"Edit: {chip}").click()
    inner = editor.get_by_role("dialog", name=f"Edit: {chip}")
    expect(inner.get_by_text("This form cannot show all of the condition")).to_be_visible()
    expect(inner.get_by_role("button", name="Edit as JSON")).to_have_count(0)
    assert filter_of(page) == {"op": "AND", "conditions": [FAILED, either]}
    expect_newest(page, service, filter_of(page))


def test_conditions_on_a_span_come_and_go_and_their_values_are_suggested(
    visit: Callable[..., Page], service: RunningService
) -> None:
    page = visit(service.url, place({"op": "SPAN", "as": "mine", "where": TOOL}))
    page.get_by_role("button", name="Edit: a tool span").click()
    form = page.get_by_role("dialog", name="Edit: a tool span")
    span = form.get_by_role("group", name="The span")
    value = span.get_by_label("Value")
    value.fill("l")
    expect(span.locator("datalist option[value='LLM']")).to_have_count(1)
    expect(span.get_by_role("button", name="Take out condition 1")).to_be_disabled()
    span.get_by_role("button", name="+ And").click()
    span.get_by_role("group", name="Condition 2").get_by_label("Field").select_option("is_root")
    span.get_by_role("group", name="Condition 2").get_by_label("Value").select_option("false")
    span.get_by_role("button", name="Take out condition 1").press("Enter")
    expect(span.get_by_role("button", name="+ And")).to_be_focused()
    form.get_by_label("Least number").fill("1.5")
    form.get_by_role("button", name="Apply").click()
    expect(form.get_by_role("alert")).to_have_text("Enter how often: a whole number.")
    form.get_by_label("Least number").fill("1")
    form.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("a span where Is a Root is false")).to_be_visible()
    named = {"op": "SPAN", "as": "mine", "where": {"op": "EQ", "key": "is_root", "value": False}}
    assert filter_of(page) == named
    expect_newest(page, service, named)


def test_facets_filter_and_exclude(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    panel = page.get_by_label("Values to filter by")
    facets = service.http.post("/traces/facets", json={"fields": ["agent_id"], "limit": 8}).json()["data"]
    first, second, *_ = [each["value"] for each in facets["agent_id"]["values"]]
    panel.get_by_role("button", name=re.compile(f"^{first} ")).click()
    expect_total(page, service, {"op": "EQ", "key": "agent_id", "value": first})
    panel.get_by_role("button", name=re.compile(f"^{second} ")).click()
    expect_total(page, service, {"op": "IN", "key": "agent_id", "values": [first, second]})
    assert_accessible(page)
    panel.get_by_role("button", name=re.compile(f"^✓ {first}|^{first} ")).click()
    panel.get_by_role("button", name=f"Exclude {first}", exact=True).click()
    expect(page.get_by_text(f"Agent ID is not {first}")).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    panel.get_by_role("button", name=" more…").first.click()
    panel.get_by_label("Values that begin with").fill(first[:4])
    expect(panel.get_by_role("button", name=re.compile(f"^{first} "))).to_be_visible()


def test_recent_filters_are_offered_again(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    panel = page.get_by_label("Values to filter by")
    panel.get_by_role("button", name=re.compile("^ERROR ")).click()
    expect_total(page, service, FAILED)
    page.get_by_role("button", name="Clear", exact=True).click()
    page.reload()
    page.get_by_role("button", name="Recent filters").click()
    page.get_by_role("dialog", name="Recent filters").get_by_role("button", name="Status is ERROR").click()
    expect_total(page, service, FAILED)
