"""Floods of unknown tokens: their cost, and their effect on other callers."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import Counter
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

from support.clients.tokens import as_caller, jwks_file, signing_key
from support.clients.websocket import open_websocket
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.services.process import RunningService

ATTACKER, STRANGER = "127.0.0.1", "127.0.0.2"
SEARCHER = ("traces:read", "config:read", "metrics:read", "workflows:run")
FLOODS = {
    "forged signatures": f"Bearer {signing_key().sign({'sub': 'mallory'})[:-8]}AAAAAAAA",
    "no tokens": "",
    "long tokens": f"Bearer {'x' * 20_000}",
    "deep headers": f"Bearer {'W1tb' * 1500}.e30.AA",
}
"""By name: the `Authorization` of requests that are always rejected."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("flooded")
    flags = ("--authorization", "--unknown-processor-share", "0.02", "--log-level", "warning")
    with start_hosted(folder, *flags, JWT_JWKS_FILE=jwks_file(folder)) as service:
        yield service
        assert service.stop() == 0


def ask(service: RunningService, address: str, authorization: str, path: str = "/traces") -> tuple[int, dict[str, str]]:
    """Sends a request over a new connection from an address. Returns the status and the headers of the response."""
    connection = HTTPConnection("127.0.0.1", service.port, timeout=30, source_address=(address, 0))
    try:
        connection.request("GET", path, headers={"Authorization": authorization} if authorization else {})
        response = connection.getresponse()
        response.read()
        return response.status, {name.lower(): value for name, value in response.getheaders()}
    finally:
        connection.close()


def become_known(service: RunningService, sub: str) -> str:
    """Verifies a token, possibly right after a flood. Returns its `Authorization`."""
    authorization = as_caller(sub, *SEARCHER)["Authorization"]
    assert any(ask(service, STRANGER, authorization)[0] == 200 for _ in range(100))
    return authorization


@contextmanager
def flood(service: RunningService, authorization: str) -> Iterator[Counter[int]]:
    """Sends requests over new connections from one address, each after the previous response. Yields the statuses."""
    statuses: Counter[int] = Counter()
    has_ended = threading.Event()

    def send() -> None:
        while not has_ended.is_set():
            status, headers = ask(service, ATTACKER, authorization)
            statuses[status] += 1
            if status == 503:
                assert (headers["retry-after"], headers["connection"]) == ("1", "close")

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        while not statuses[503]:
            assert statuses.total() < 20_000, "nothing was rejected"
        yield statuses
    finally:
        has_ended.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("name", FLOODS)
def test_known_callers_and_new_ones_from_elsewhere_are_served_during_a_flood(
    guarded: RunningService, name: str
) -> None:
    known = become_known(guarded, "known")
    with flood(guarded, FLOODS[name]) as statuses:
        for _ in range(100):
            assert ask(guarded, ATTACKER, known)[0] == 200, "the same address, and verified before"
        for number in range(20):
            new = as_caller(f"{name} {number}", *SEARCHER)["Authorization"]
            assert any(ask(guarded, STRANGER, new)[0] == 200 for _ in range(3)), "its address has a part of its own"
        for path in ("/health", "/info", "/docs", "/openapi.json"):
            assert ask(guarded, ATTACKER, FLOODS[name], path)[0] == 200, "a public route needs no token"
    assert set(statuses) == {401, 503}
    assert statuses[503] > statuses[401] / 10
    metrics = guarded.http.get("/metrics", headers={"Authorization": known}).raise_for_status().text
    counted = dict(re.findall(r"^spanwise_unknown_callers_(\w+) (.+)$", metrics, re.MULTILINE))
    assert float(counted["rejected_total"]) >= statuses[503]
    assert float(counted["processor_seconds_total"]) > 0


def test_the_connection_of_a_rejected_request_is_closed(guarded: RunningService) -> None:
    request = b"GET /traces HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a.b.c\r\n\r\n"
    with flood(guarded, FLOODS["forged signatures"]):
        for _ in range(500):
            with socket.create_connection(("127.0.0.1", guarded.port), 30) as connection:
                connection.sendall(request)
                if connection.recv(12) == b"HTTP/1.1 503":
                    while connection.recv(65536):
                        pass
                    return
    pytest.fail("nothing was rejected")


def test_public_pages_take_nothing_of_the_budget_so_that_who_comes_first_is_known(guarded: RunningService) -> None:
    newcomer, authorization = "127.0.0.3", as_caller("newcomer", *SEARCHER)["Authorization"]
    assert {ask(guarded, newcomer, authorization, "/ui")[0] for _ in range(150)} == {200}
    with closing(HTTPConnection("127.0.0.1", guarded.port, timeout=30, source_address=(newcomer, 0))) as connection:
        connection.request("GET", "/info", headers={"Authorization": authorization})
        assert json.loads(connection.getresponse().read())["authenticated"] is True


def test_sockets_are_within_the_same_budget(guarded: RunningService) -> None:
    """A socket from another address is accepted, and one of a known caller from any address."""
    known = {"Authorization": become_known(guarded, "socket")}
    with flood(guarded, FLOODS["forged signatures"]):
        for _ in range(10):
            with open_websocket(guarded, headers=known) as opened:
                assert opened.request("ping") == {"event": "pong"}
        rejected = [ask_for_a_socket(guarded, ATTACKER) for _ in range(50)]
        assert set(rejected) <= {101, 503}
        assert 503 in rejected
        assert 101 in [ask_for_a_socket(guarded, STRANGER) for _ in range(3)]


def ask_for_a_socket(service: RunningService, address: str) -> int:
    """Returns the status of a handshake without a token."""
    lines = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"
    with socket.create_connection(("127.0.0.1", service.port), 30, (address, 0)) as connection:
        connection.sendall(f"GET /workflows/ws HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        return int(connection.recv(12).split()[1])
