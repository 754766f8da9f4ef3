"""A first-time user with a failing agent and five minutes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from spanwise.demo.hosted import weather
from support.browser.pictures import take_picture
from support.services.demo import start_demo
from support.services.process import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

CITIES = ("Oslo", "Lisbon", "Kyoto", "Nairobi", "Lima", "Perth", "Turin", "Quito", "Riga", "Accra")
FOGGY = next(city for city in CITIES if weather(city)[0] == "fog")
CLEAR = next(city for city in CITIES if weather(city)[0] != "fog")


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[str]:
    """The address of `spanwise demo`, which hosts an agent that fails in fog.

    A test requests it before `visit`. Pages then close before the service stops, which would interrupt their requests.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with start_demo(tmp_path / "demo", port, "--traces", "300"):
        with httpx.Client(transport=httpx.HTTPTransport(retries=100)) as client:
            while not client.get(f"{url}/health?ready=true").is_success:
                pass
        yield url


def book(page: Page, city: str) -> None:
    """Asks the agent for a room after its last answer has ended, and approves."""
    page.get_by_label("Message").fill(city)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Approve").last.click()


def test_a_failed_tool_call_is_found_and_the_run_repeated(demo: str, visit: Callable[..., Page]) -> None:
    page = visit(demo, "#/playground/agents/booker")
    book(page, CLEAR)
    expect(page.get_by_text(f"Room 7 in {CLEAR} is yours.")).to_be_visible()
    book(page, FOGGY)
    expect(page.get_by_text("No room was booked")).to_be_visible()

    page.get_by_role("link", name="Traces", exact=True).click()
    page.get_by_role("link", name=re.compile("Booker.run")).first.click()
    expect(page.get_by_role("heading", level=1, name="Booker.run")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_text(f"the hotel in {FOGGY} does not answer").first).to_be_visible()
    take_picture(page, "first-look-failed-tool")

    page.get_by_role("button", name="Run it again").click()
    expect(page).to_have_url(re.compile("#/playground/agents/booker"))
    expect(page.get_by_label("Message")).to_have_value(FOGGY)
    book(page, CLEAR)
    expect(page.get_by_text(f"Room 7 in {CLEAR} is yours.")).to_be_visible()
