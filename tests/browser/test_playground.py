"""The playground: run, stream, cancel, answer, and the forms of factories."""

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


def ask(page: Page, message: str) -> None:
    page.get_by_label("Message").fill(message)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_agent_is_run(visit: Callable[..., Page], service: RunningService, theme: str) -> None:
    page = visit(service.url, "#/playground/agents/echo", theme=theme)
    ask(page, "say this")
    run = page.get_by_role("article", name="Run")
    expect(run.get_by_text("Completed")).to_be_visible()
    expect(run.get_by_text("say this")).to_have_count(2)
    assert_accessible(page)
    take_picture(page, f"playground-{theme}")
    run.get_by_role("link", name="Trace").click()
    expect(page).to_have_url(re.compile("#/trace/[0-9a-f]{32}"))


def test_the_components_are_listed_and_the_first_is_chosen(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/playground")
    expect(page).to_have_url(re.compile("#/playground/agents/"))
    page.get_by_role("link", name="Router").click()
    expect(page.get_by_placeholder("Ask Router")).to_be_visible()
    ask(page, "two words")
    expect(page.get_by_role("article", name="Run").get_by_text("Completed")).to_be_visible()
    done = page.get_by_label("What it does")
    done.locator("summary").filter(has_text="Words").click()
    expect(done.get_by_text("two words")).to_be_visible()


def test_a_link_brings_a_message_along(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/playground/agents/echo?message=again&session=s-1")
    expect(page.get_by_label("Message")).to_have_value("again")
    expect(page.get_by_label("Session")).to_have_value("s-1")


def test_a_run_that_waits_is_answered(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/playground/agents/asking")
    ask(page, "confirm this")
    expect(page.get_by_text("Waits for an answer")).to_be_visible()
    assert_accessible(page)
    page.get_by_label("Note").fill("go ahead")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Completed")).to_be_visible()


def test_a_run_is_cancelled(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/playground/agents/slow")
    ask(page, "wait")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled", exact=True)).to_be_visible()


def test_a_run_that_fails_says_so(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/playground/agents/failing")
    ask(page, "break")
    expect(page.get_by_text("Failed", exact=True)).to_be_visible()


def test_a_factory_has_a_form_of_its_input(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/playground/agents/sized", expected=["status of 400"])
    ask(page, "ab")
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("size").fill("3")
    ask(page, "ab")
    expect(page.get_by_text("ababab")).to_be_visible()
    assert_accessible(page)


def test_what_is_not_there_is_said(visit: Callable[..., Page], service: RunningService, empty: RunningService) -> None:
    page = visit(service.url, "#/playground/agents/nobody")
    expect(page.get_by_text("There is no agent `nobody` here")).to_be_visible()
    page = visit(empty.url, "#/playground")
    expect(page.get_by_text("This service hosts no agents")).to_be_visible()


def test_a_phone_shows_it(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/playground/agents/echo", width=360)
    ask(page, "small")
    expect(page.get_by_text("Completed")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
