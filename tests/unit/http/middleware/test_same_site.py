"""Without authorization, pages of other sites start no run and read no data."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from spanwise import ConfigurationError, Service, TraceStore
from spanwise.http.middleware.same_site import MAX_HOST_CHARACTERS, host_of, is_origin_of, parse_hosts
from support.in_process.client import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    store = TraceStore.open(str(tmp_path / "traces"))
    yield store
    store.close()


def statuses(store: TraceStore, path: str, *requests: dict[str, str], **settings: Any) -> list[int]:
    async def scenario() -> list[int]:
        async with client_of(Service(traces=store, settings=settings, callers="open")) as client:
            return [(await client.get(path, headers=headers)).status_code for headers in requests]

    return asyncio.run(scenario())


LOOPBACK = ["localhost", "LocalHost:7777", "127.0.0.1", "127.8.9.1:80", "[::1]", "[::1]:7777"]
OTHERS = [
    "evil.example",
    "localhost.evil.example",
    "0.0.0.0",
    "10.0.0.1",
    "[::2]",
    "",
    "a@localhost",
    "localhost/x",
    "[",
]


def test_requests_name_a_host_of_this_machine(store: TraceStore) -> None:
    given = [{"Host": host} for host in (*LOOPBACK, *OTHERS)]
    assert statuses(store, "/traces", *given) == [200] * len(LOOPBACK) + [403] * len(OTHERS)
    assert statuses(store, "/health", *given) == [200] * len(given)


def test_other_hosts_are_allowed_by_a_setting(store: TraceStore) -> None:
    hosts = [{"Host": host} for host in ("traces.example", "TRACES.example:80", "other.example", "localhost", "[::2]")]
    assert statuses(store, "/traces", *hosts, allowed_hosts="Traces.example, [::2]") == [200, 200, 403, 200, 200]
    assert statuses(store, "/traces", *hosts, allowed_hosts="*") == [200] * 5


PAGES: dict[str, tuple[dict[str, str], int]] = {
    "a program": ({}, 200),
    "our own page": ({"Origin": "http://localhost"}, 200),
    "a foreign page": ({"Origin": "https://evil.example"}, 403),
    "another port": ({"Origin": "http://localhost:3000"}, 403),
    "a page without an origin": ({"Origin": "null"}, 403),
    "a page that may": ({"Origin": "https://ours.example"}, 200),
    "a link": ({"Sec-Fetch-Site": "cross-site"}, 403),
    "our own link": ({"Sec-Fetch-Site": "same-origin"}, 200),
    "the address bar": ({"Sec-Fetch-Site": "none"}, 200),
}


@pytest.mark.parametrize("case", PAGES)
def test_pages_of_other_sites_are_rejected(store: TraceStore, case: str) -> None:
    headers, status = PAGES[case]
    assert statuses(store, "/traces", headers, cors_origins="https://ours.example") == [status]


LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
NO_LINKS: dict[str, dict[str, str]] = {
    "a frame": LINK | {"Sec-Fetch-Dest": "iframe"},
    "an object": LINK | {"Sec-Fetch-Dest": "object"},
    "a script": LINK | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    "a request of a script": LINK | {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
    "a form": LINK | {"Origin": "https://evil.example"},
    "a form without an origin": LINK | {"Origin": "null"},
    "a link to a name of another": LINK | {"Host": "evil.example"},
    "an old browser": {"Sec-Fetch-Site": "cross-site"},
}


@pytest.mark.parametrize("path", ["/", "/ui", "/ui/"])
def test_a_link_of_another_site_opens_the_user_interface(store: TraceStore, path: str) -> None:
    html = {"Accept": "text/html"}
    found = 200 if path == "/ui" else 307
    assert statuses(store, path, LINK | html, *NO_LINKS.values()) == [found, *[403] * len(NO_LINKS)]


@pytest.mark.parametrize("path", ["/info", "/docs", "/traces", "/config", "/ui/nope", "/ui/THIRD_PARTY.txt", "/uinope"])
def test_a_link_of_another_site_opens_nothing_else(store: TraceStore, path: str) -> None:
    assert statuses(store, path, LINK) == [403]


def test_a_form_of_another_site_is_no_link(store: TraceStore) -> None:
    async def scenario() -> int:
        async with client_of(Service(traces=store, callers="open")) as client:
            return (await client.post("/ui", headers=LINK)).status_code

    assert asyncio.run(scenario()) == 403


def test_a_rejection_names_the_setting(store: TraceStore) -> None:
    async def scenario() -> tuple[int, dict[str, str], str | None]:
        async with client_of(Service(traces=store, callers="open")) as client:
            response = await client.post("/agents/x/runs", data={"message": "x"}, headers={"Host": "evil.example"})
            return response.status_code, response.json(), response.headers.get("x-request-id")

    status, body, request_id = asyncio.run(scenario())
    assert (status, body["error_code"]) == (403, "FORBIDDEN")
    assert body["detail"] == "the host `evil.example` is not one of `allowed_hosts`, and authorization is off"
    assert request_id


@pytest.mark.parametrize("text", ["https://x.example", "x.example:80", "a b@c", "x/y"])
def test_what_is_no_host_is_rejected_at_the_start(text: str) -> None:
    with pytest.raises(ConfigurationError, match="`allowed_hosts`: expected a host name"):
        parse_hosts(text)


def test_hosts_are_compared_without_port_and_case() -> None:
    assert [host_of(text) for text in ("X.Example:1", "[::1]:2", "a@b", "a/b", "[", "")] == [
        "x.example",
        "::1",
        *[None] * 4,
    ]


@pytest.mark.parametrize(
    "origin", ["http://[", "http://[::1", "http://" + "a" * 60_000, "http://localhost" + "/" * 512]
)
def test_an_origin_that_is_none_is_another_site(store: TraceStore, origin: str) -> None:
    assert statuses(store, "/traces", {"Host": "localhost", "Origin": origin}) == [403]
    assert not is_origin_of(origin, "localhost")


def test_a_host_that_is_too_long_is_not_parsed() -> None:
    assert host_of("a" * MAX_HOST_CHARACTERS) == "a" * MAX_HOST_CHARACTERS
    assert host_of("a" * (MAX_HOST_CHARACTERS + 1)) is None
