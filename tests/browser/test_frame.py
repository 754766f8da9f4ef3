"""The frame of all screens: sign-in, keys, preferences, status, and stopped or read-only services."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from spanwise.auth.config import ADMIN_SCOPE
from support.browser.accessibility import assert_accessible
from support.browser.chromium import PATIENCE_MILLISECONDS
from support.browser.held import hold_requests
from support.browser.pictures import take_picture
from support.clients.tokens import claims, signing_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page, Route

    from support.services.process import RunningService


def with_an_unknown_token(route: Route) -> None:
    route.continue_(headers={**route.request.headers, "authorization": "Bearer a.b.c"})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_status_is_shown(visit: Callable[..., Page], service: RunningService, theme: str) -> None:
    page = visit(service.url, "#/status", theme=theme)
    expect(page.get_by_text("✓ ready")).to_be_visible()
    store = page.locator("section", has=page.get_by_role("heading", name="Store default"))
    expect(store.get_by_text(re.compile(r"[1-9].* [KM]iB, and .* of indexes"))).to_be_visible()
    settings = page.locator("section", has=page.get_by_role("heading", name="Settings"))
    expect(settings.get_by_text(str(service.port), exact=True)).to_be_visible()
    settings.get_by_text("others, with their defaults").click()
    expect(settings.get_by_text("search_queue_size", exact=True)).to_be_visible()
    expect(settings.get_by_text("database_url", exact=True)).to_be_hidden()
    assert_accessible(page)
    take_picture(page, f"status-{theme}")


def test_every_screen_has_its_key(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/status")
    expect(page.get_by_text("✓ ready")).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog")
    expect(keys).to_be_visible()
    assert_accessible(page)
    labels = keys.locator("dd").all_text_contents()
    screens = [label.removeprefix("Go to ") for label in labels if label.startswith("Go to ")]
    pressed = [keys.locator("dt").nth(number).locator("kbd").all_text_contents() for number in range(len(screens))]
    page.keyboard.press("Escape")
    expect(keys).not_to_be_visible()
    for screen, (first, second) in zip(screens, pressed, strict=True):
        page.keyboard.press(first)
        page.keyboard.press(second)
        expect(page).to_have_title(re.compile(f"^{screen} ·"))
        expect(page.get_by_role("link", name=screen, exact=True)).to_have_attribute("aria-current", "page")


def test_a_screen_that_comes_late_does_not_replace_the_one_that_was_gone_back_to(
    visit: Callable[..., Page], service: RunningService
) -> None:
    page = visit(service.url, "#/status")
    expect(page.get_by_role("heading", name="Store default")).to_be_visible()
    held = hold_requests(page, "**/assets/TailScreen-*.js")
    with page.expect_request("**/assets/TailScreen-*.js"):
        page.keyboard.press("g")
        page.keyboard.press("l")
    expect(page).to_have_url(re.compile("#/tail"))
    page.go_back()
    (route,) = held
    with page.expect_response("**/assets/TailScreen-*.js"):
        route.continue_()
    page.wait_for_timeout(200)
    expect(page.get_by_role("heading", name="Store default")).to_be_visible()


def test_a_phone_scrolls_the_screens_sideways_only(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/status", width=390, height=740)
    screens = page.get_by_role("navigation", name="Screens")
    expect(screens).to_be_visible()
    assert screens.evaluate("(each) => each.scrollHeight - each.clientHeight") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_keys_of_one_letter_can_be_switched_off(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/status")
    page.get_by_role("main").get_by_label("Keys of one letter").uncheck()
    page.get_by_role("main").focus()
    page.keyboard.press("?")
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    expect(page).to_have_title(re.compile("^Status ·"))


def test_preferences_outlive_the_page(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/status")
    page.get_by_label("Theme", exact=True).select_option("dark")
    page.get_by_label("Times").select_option("utc")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_label("Times")).to_have_value("utc")


def test_an_expired_token_asks_again_and_keeps_the_place(
    visit: Callable[..., Page], guarded: RunningService, admin_token: str
) -> None:
    soon = {"exp": int(time.time()) + 2}  # the service allows a leeway of ten seconds
    brief_token = signing_key().sign(claims("root", ADMIN_SCOPE) | soon)
    page = visit(guarded.url, "#/sessions?find=forecast", token=brief_token, expected=["status of 401"])
    expect(page.get_by_role("status")).to_contain_text("sessions")
    deadline = time.monotonic() + 2 * PATIENCE_MILLISECONDS / 1000
    while page.get_by_label("Token", exact=True).is_hidden() and time.monotonic() < deadline:
        page.keyboard.press("r")
        page.wait_for_timeout(500)
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("refused")
    assert_accessible(page)
    page.get_by_label("Token", exact=True).fill(admin_token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(page).to_have_url(re.compile("find=forecast"))


def test_a_token_is_kept_for_the_tab_only_if_asked(
    visit: Callable[..., Page], guarded: RunningService, admin_token: str
) -> None:
    page = visit(guarded.url, "#/status", token=admin_token)
    expect(page.get_by_text("✓ ready")).to_be_visible()
    page.reload()
    page.get_by_label("Token", exact=True).fill(f"Bearer {admin_token}")
    page.get_by_label("Keep for this tab").check()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("✓ ready")).to_be_visible()
    page.reload()
    expect(page.get_by_text("✓ ready")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.reload()
    expect(page.get_by_label("Token", exact=True)).to_be_visible()


def test_what_is_no_token_is_not_sent(visit: Callable[..., Page], guarded: RunningService) -> None:
    page = visit(guarded.url)
    page.get_by_label("Token", exact=True).fill("hello")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("no JSON web token")


def test_a_screen_keeps_its_keys_where_the_service_is_known_after_its_code(
    visit: Callable[..., Page], service: RunningService
) -> None:
    page = visit(service.url, "#/status")
    expect(page.get_by_text("✓ ready")).to_be_visible()
    held = hold_requests(page, "**/info")
    page.goto("about:blank")
    with page.expect_request_finished(lambda request: "/assets/Traces-" in request.url):
        page.goto(f"{service.url}/ui#/traces?from=all")
    held[0].continue_()
    expect(page.locator("[data-row]").first).to_be_visible()
    page.keyboard.press("f")
    expect(page.get_by_role("dialog", name="Add: filter")).to_be_visible()


def test_a_service_that_stops_is_said_and_found_again(
    visit: Callable[..., Page], start: Callable[..., RunningService]
) -> None:
    running = start()
    page = visit(running.url, "#/sessions", expected=["ERR_CONNECTION_REFUSED"])
    expect(page.get_by_text("No trace has a session id yet.")).to_be_visible()
    assert running.stop() == 0
    page.keyboard.press("r")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    again = start("--port", str(running.port), is_ready=False)
    again.http.base_url = running.url
    again.wait_until_ready()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_page_of_a_reader_hides_what_it_does_not_serve(
    visit: Callable[..., Page], start: Callable[..., RunningService]
) -> None:
    start()
    reader = start("--reader")
    page = visit(reader.url, "#/status")
    screens = page.get_by_role("navigation", name="Screens").get_by_role("link")
    expect(screens).to_have_text(["Traces", "Sessions", "Live tail", "Status"])
    expect(page.get_by_text("✓ follows, ")).to_be_visible()
    page.goto(f"{reader.url}/ui#/playground")
    expect(page.get_by_role("heading", name="Traces").first).to_be_visible()
