"""The page loads without external resources and without violations of its policy, from any link."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from support.browser.accessibility import assert_accessible
from support.browser.pictures import take_picture
from support.servers.prefix_proxy import SESSION, PrefixProxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    from support.services.process import RunningService


MAX_FIRST_VISIT_BYTES = 90_000
"""Compressed JS and CSS until the list and its charts are visible."""


def expect_screen(page: Page) -> None:
    expect(page.get_by_role("main")).to_be_visible()
    expect(page).to_have_title(re.compile("Spanwise"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_loads_and_is_accessible(visit: Callable[..., Page], service: RunningService, theme: str) -> None:
    page = visit(service.url, theme=theme)
    expect_screen(page)
    assert_accessible(page)
    take_picture(page, f"page-{theme}")


def test_a_first_visit_to_the_list_loads_little(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, "#/traces?from=all")
    expect(page.locator("[data-row]")).to_have_count(50)
    expect(page.locator("canvas")).to_have_count(2)
    loaded = page.evaluate(
        """() => performance.getEntriesByType("resource")
            .filter((each) => /\\.(js|css)$/.test(new URL(each.name).pathname))
            .map((each) => each.encodedBodySize)"""
    )
    assert len(loaded) >= 5
    assert sum(loaded) <= MAX_FIRST_VISIT_BYTES


def test_a_browser_is_led_there_and_keeps_its_place(page: Page, service: RunningService) -> None:
    page.goto(f"{service.url}/#/status")
    expect(page).to_have_url(f"{service.url}/ui#/status")
    expect_screen(page)
    page.goto(f"{service.url}/ui/")
    expect(page).to_have_url(f"{service.url}/ui#/traces")
    expect_screen(page)


def test_it_works_below_a_prefix(visit: Callable[..., Page], below_prefix: str) -> None:
    page = visit(below_prefix)
    expect_screen(page)
    page.goto(f"{below_prefix}/")
    expect(page).to_have_url(f"{below_prefix}/ui#/traces")
    expect_screen(page)


def test_a_token_is_asked_for_where_one_is_needed(
    visit: Callable[..., Page], guarded: RunningService, admin_token: str
) -> None:
    page = visit(guarded.url, token=admin_token)
    expect_screen(page)
    expect(page.get_by_label("Token", exact=True)).to_have_count(0)
    assert "Bearer" not in page.evaluate("JSON.stringify([{...localStorage}, document.cookie, location.href])")
    assert admin_token not in page.evaluate("JSON.stringify([{...localStorage}, document.cookie, location.href])")


@pytest.fixture
def proxy(guarded: RunningService, admin_token: str) -> Iterator[PrefixProxy]:
    """A proxy that signs its users in.

    Tests request it before `visit`, because it interrupts responses when it stops.
    """
    with PrefixProxy(guarded.port, "", admin_token) as running:
        yield running


def test_no_token_is_asked_for_where_a_proxy_has_signed_the_user_in(
    proxy: PrefixProxy, visit: Callable[..., Page]
) -> None:
    name, _, value = SESSION.partition("=")
    cookie = {"name": name, "value": value, "url": proxy.url}
    page = visit(proxy.url, storage_state={"cookies": [cookie], "origins": []})
    expect(page.get_by_role("navigation").first).to_be_visible()
    expect(page.get_by_label("Token", exact=True)).to_have_count(0)
    stranger = visit(proxy.url)
    expect(stranger.get_by_label("Token", exact=True)).to_be_visible()


def test_a_link_of_another_site_opens_it_and_leads_nowhere_else(
    browser: Browser, service: RunningService, empty: RunningService
) -> None:
    """Browsers treat `localhost` and `127.0.0.1` as different sites."""
    other = empty.url.replace("127.0.0.1", "localhost")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{other}/info")
        page.evaluate("url => { location.href = url }", f"{service.url}/ui#/status")
        expect_screen(page)
        page.goto(f"{other}/info")
        with page.expect_response(f"{service.url}/traces") as found:
            page.evaluate("url => { location.href = url }", f"{service.url}/traces")
        assert found.value.status == 403


def test_its_policy_blocks_what_a_span_could_try(visit: Callable[..., Page], service: RunningService) -> None:
    page = visit(service.url, expected=["content policy: ", "console: ", "uncaught: "])
    blocked = """async () => {
        const refused = [];
        const attempts = {
            html: () => { document.body.innerHTML = "<b>x</b>"; },
            script: () => { document.createElement("script").src = "data:text/javascript,1"; },
        };
        for (const [name, attempt] of Object.entries(attempts)) {
            try { attempt(); } catch { refused.push(name); }
        }
        try { await fetch("http://localhost:9/"); } catch { refused.push("fetch"); }
        return refused;
    }"""
    assert page.evaluate(blocked) == ["html", "script", "fetch"]
