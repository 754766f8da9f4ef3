"""Sessions: the list, and one session as a conversation."""

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


@pytest.fixture(scope="module")
def conversation(service: RunningService) -> dict[str, str]:
    """The made-up session with the most turns, at least two."""
    body = {"group_by": "session", "limit": 100}
    sessions = service.http.post("/traces/search", json=body).json()["data"]
    found: dict[str, str] = max((each for each in sessions if "user_id" in each), key=lambda each: each["total_traces"])
    assert int(found["total_traces"]) > 1
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_sessions_are_listed(visit: Callable[..., Page], service: RunningService, theme: str) -> None:
    page = visit(service.url, "#/sessions", theme=theme)
    expect(page.get_by_role("row")).to_have_count(51)
    assert_accessible(page)
    take_picture(page, f"sessions-{theme}")
    page.get_by_role("button", name="Next").click()
    expect(page).to_have_url(re.compile("page=2"))
    expect(page.get_by_label("Page number")).to_have_value("2")
    page.go_back()
    expect(page.get_by_label("Page number")).to_have_value("1")


def test_a_session_is_found_and_shown_as_a_conversation(
    visit: Callable[..., Page], service: RunningService, conversation: dict[str, str]
) -> None:
    page = visit(service.url, "#/sessions")
    expect(page.get_by_role("row")).to_have_count(51)
    page.keyboard.press("/")
    page.keyboard.type(conversation["session_id"])
    row = page.get_by_role("row").filter(has_text=conversation["user_id"])
    row.get_by_role("link", name=conversation["session_id"], exact=True).click()
    expect(page.get_by_role("heading", name=conversation["session_id"])).to_be_visible()
    turns = page.get_by_role("article")
    expect(turns).to_have_count(min(10, int(conversation["total_traces"])))
    assert_accessible(page)
    take_picture(page, "session")
    turns.first.get_by_role("link", name="Trace").click()
    expect(page).to_have_url(re.compile("#/trace/[0-9a-f]{32}"))
    page.go_back()
    expect(page.get_by_role("article").first).to_be_visible()


def test_a_phone_shows_a_conversation(
    visit: Callable[..., Page], service: RunningService, conversation: dict[str, str]
) -> None:
    page = visit(service.url, f"#/sessions/{conversation['session_id']}", width=360)
    expect(page.get_by_role("article").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_what_is_not_there_is_said(visit: Callable[..., Page], service: RunningService, empty: RunningService) -> None:
    page = visit(service.url, "#/sessions/nobody")
    expect(page.get_by_text("There is no such session")).to_be_visible()
    page = visit(service.url, "#/sessions?find=nobody")
    expect(page.get_by_text("No session matches.")).to_be_visible()
    page = visit(empty.url, "#/sessions")
    expect(page.get_by_text("No trace has a session id yet.")).to_be_visible()
    assert_accessible(page)
