"""The charts above the traces: their content as a picture and as a table, and selection by dragging."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.pictures import take_picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from support.services.process import RunningService


def drag(page: Page, chart: str, start: float, end: float) -> None:
    """Drags over the plot of a chart, between two fractions of its width."""
    plot = page.get_by_role("img", name=re.compile(chart)).locator(".u-over")
    plot.hover()  # waits until the plot stops moving, because each response redraws it
    box = plot.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], middle, steps=4)
    page.mouse.up()


def numbers(page: Page, column: int) -> list[int]:
    """Returns a column of the table below a chart."""
    cells = page.locator(f"details table tbody td:nth-of-type({column})").all_text_contents()
    return [int(cell.replace(",", "")) for cell in cells]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chart_and_its_table_show_every_trace(
    visit: Callable[..., Page], service: RunningService, theme: str
) -> None:
    page = visit(service.url, "#/traces?from=-30d", theme=theme)
    page.get_by_text("Traces over time, as a table").click()
    expect(page.locator("details table")).to_be_visible()
    total = f"{sum(numbers(page, 1)) + sum(numbers(page, 2)):,} traces"
    expect(page.locator("section[aria-label='List of traces'] b").first).to_have_text(total)
    assert_accessible(page)


def test_a_trace_of_long_ago_does_not_flatten_the_chart(visit: Callable[..., Page], service: RunningService) -> None:
    """One of the captured traces is from 2001."""
    page = visit(service.url, "#/traces?from=all")
    expect(page.get_by_text("far away not drawn")).to_be_visible()
    page.get_by_text("Traces over time, as a table").click()
    starts = page.locator("details table tbody th").all_text_contents()
    assert all("2026" in start for start in starts)


def test_every_chart_is_split_by_agents(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all", width=1440, height=900)
    page.get_by_label("Split by").select_option("agent_id")
    for chart in ("Traces", "Errors", "Latency", "Tokens"):
        page.get_by_role("group", name="Chart").get_by_role("button", name=chart).click()
        expect(page.get_by_role("img", name=f"{chart} over time by Agent ID")).to_be_visible()
        expect(page.locator(".legend .entry")).to_have_count(9)
        expect(page.locator(".legend .entry").last).to_contain_text("others")
        take_picture(page, f"traces-{chart.lower()}")
    assert_accessible(page)
    page.reload()
    expect(page.get_by_role("img", name="Tokens over time by Agent ID")).to_be_visible()


def test_a_drag_selects_a_range(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    expect(page.get_by_role("img", name="Traces over time")).to_be_visible()
    before = page.locator("section[aria-label='List of traces'] b").first.text_content()
    drag(page, "Traces over time", 0.3, 0.6)
    expect(page).to_have_url(re.compile(r"from=\d{4}-.*&?to=\d{4}-|to=\d{4}-.*from=\d{4}-"))
    expect(page.locator("section[aria-label='List of traces'] b").first).not_to_have_text(str(before))
    page.go_back()
    expect(page.get_by_role("button", name="Time range: All time")).to_be_visible()


def test_a_drag_over_durations_filters_by_them(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    expect(page.get_by_role("img", name="Distribution of the durations")).to_be_visible()
    with page.expect_response("**/traces/aggregate"):
        drag(page, "Distribution of the durations", 0.5, 0.9)
    expect(page.get_by_text("Duration (ms) is at least")).to_be_visible()
    expect(page.get_by_text("Duration (ms) is less than")).to_be_visible()
    drag(page, "Distribution of the durations", 0.2, 0.6)
    expect(page.get_by_text("Duration (ms) is at least")).to_have_count(1)


def test_charts_are_hidden_and_stay_so(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    page.get_by_role("button", name="Hide charts").click()
    page.reload()
    expect(page.get_by_role("button", name="Show charts")).to_be_visible()
    expect(page.get_by_role("img", name="Traces over time")).to_have_count(0)
