"""The page about agno's client names each of its methods once, and is right about which routes serve it."""

from __future__ import annotations

import inspect
import re

import pytest
from agno.client import AgentOSClient

from spanwise.http.routing.table import TABLE
from support.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "agno-client.md").read_text("utf-8")
SERVED_SECTION, UNSERVED_SECTION = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
OF_SOME_VERSIONS = {
    "get_models",
    "get_metrics_refresh_status",
    "get_session_run_previews",
    "aget_session_run_previews",
}
WITH_ANOTHER_MEANING = {"get_metrics"}
"""Methods whose path has another meaning here."""

METHODS = {
    name: inspect.getsource(method)
    for name, method in inspect.getmembers(AgentOSClient, inspect.isfunction)
    if not name.startswith("_")
}
VERBS = ("get", "post", "patch", "delete")


def rows(section: str) -> list[tuple[list[str], str]]:
    """Returns the methods and the second cell of each row of a table."""
    found = re.findall(r"^\| (`.*?`) \| (.*) \|$", section, flags=re.MULTILINE)
    return [(re.findall(r"`(\w+)`", methods), cell) for methods, cell in found]


SERVED = {method: cell.strip("`") for methods, cell in rows(SERVED_SECTION) for method in methods}
UNSERVED = [method for methods, _ in rows(UNSERVED_SECTION) for method in methods]


def without_names(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


def requested(source: str) -> set[str]:
    """Returns the requests of a method, such as `GET /agents/{}`."""
    direct = re.findall(r'self\._a?(\w+)\(\s*f?"(/[^"]*)"', source)
    paths = re.findall(r'endpoint\s*=\s*f?"(/[^"]*)"', source)
    verbs = re.findall(r"self\._a?(?:stream_)?(\w+?)(?:_form_data)?\(\s*endpoint", source)
    pairs = [*direct, *((verb, path) for verb in verbs for path in paths)]
    return {f"{verb.upper()} {without_names(path)}" for verb, path in pairs if verb in VERBS}


ROUTES = {f"{route.method} {without_names(route.path)}" for route in TABLE}


def test_every_method_is_named_once() -> None:
    named = [*SERVED, *UNSERVED]
    assert sorted(named) == sorted(set(named))
    assert METHODS.keys() - set(named) == set()
    assert set(named) - METHODS.keys() <= OF_SOME_VERSIONS


@pytest.mark.parametrize("method", SERVED)
def test_a_method_with_a_route_requests_that_route(method: str) -> None:
    assert without_names(SERVED[method]) in ROUTES
    if method in METHODS:
        assert requested(METHODS[method]) == {without_names(SERVED[method])}


@pytest.mark.parametrize("method", [each for each in UNSERVED if each not in WITH_ANOTHER_MEANING])
def test_a_method_without_a_route_has_none(method: str) -> None:
    assert requested(METHODS.get(method, "")) & ROUTES == set()
