"""A run is repeated from its trace, in the playground of its component and with its full input."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from support.clients.made_up_trace import MadeUpTrace
from support.services.hosted import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from support.services.process import RunningService

SHORT = "where is my order"
LONG = " ".join(f"word{number}" for number in range(20_000))
"""More than a page reads of a value in one request."""


def trace_of(service: RunningService, component: str, message: str) -> str:
    """Runs a component and returns the place of the trace."""
    answer = run(service, component, message).raise_for_status().json()
    return f"#/trace/{answer['metadata']['trace_id']}"


@pytest.mark.parametrize("component", ["agents/echo", "teams/broadcast", "workflows/told"])
@pytest.mark.parametrize("message", [SHORT, LONG], ids=["short", "long"])
def test_it_asks_the_same_again(
    visit: Callable[..., Page], service: RunningService, component: str, message: str
) -> None:
    page = visit(service.url, trace_of(service, component, message))
    page.get_by_role("button", name="Run it again").click()
    expect(page).to_have_url(re.compile(f"#/playground/{component}"))
    expect(page.get_by_label("Message")).to_have_value(message)


def test_the_run_that_was_repeated_has_a_trace_of_its_own(visit: Callable[..., Page], service: RunningService) -> None:
    first = trace_of(service, "agents/echo", SHORT)
    page = visit(service.url, first)
    page.get_by_role("button", name="Run it again").click()
    page.get_by_label("Message").press("Enter")
    again = page.get_by_role("article", name="Run")
    expect(again.get_by_text("Completed")).to_be_visible()
    again.get_by_role("link", name="Trace").click()
    expect(page.get_by_role("tabpanel")).to_contain_text(SHORT)
    assert first not in page.url


def test_what_is_not_hosted_here_is_not_run(visit: Callable[..., Page], service: RunningService) -> None:
    trace = MadeUpTrace()
    trace.add("run", "AGENT", attributes={"agno.agent.id": "elsewhere", "input.value": SHORT})
    trace.send(service.http)
    page = visit(service.url, f"#/trace/{trace.trace_id}")
    expect(page.get_by_role("tabpanel")).to_contain_text(SHORT)
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    expect(page.get_by_role("button", name="Run it again")).to_have_count(0)
