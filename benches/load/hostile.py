"""The hostile clients that `mix.py` runs together. Each function runs in its own process until `end`.

Some have no token. The caller `GREEDY` has a valid one and requests the maximum of everything. Attacks at a fixed rate
are in `floods.py`.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, TypeAlias

import load_generators

from support.clients.otlp import export_request
from support.clients.tokens import bearer, claims, signing_key

if TYPE_CHECKING:
    from collections.abc import Callable

Headers: TypeAlias = dict[str, str]
GREEDY = "greedy"
NICENESS = 10
HOLD_SECONDS = 15.0
"""How long a connection is held before it is replaced."""
MEBIBYTE = 1024 * 1024
_FORM = "application/x-www-form-urlencoded"


def long_token(sub: str, *scopes: str) -> dict[str, str]:
    """Returns the headers of a caller whose token is valid for two hours."""
    return bearer(signing_key().sign({**claims(sub, *scopes), "exp": int(time.time()) + 7200}))


def as_greedy() -> dict[str, str]:
    """Returns the headers of the greedy known caller."""
    return long_token(GREEDY, "traces:read", "traces:write", "traces:delete", "agents:run", "workflows:run")


def _request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    named = {"Host": "localhost", "Accept-Encoding": "identity", **headers}
    if body:
        named |= {"Content-Type": _FORM, "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def _hold(port: int, end: float, count: int, request: bytes, more: Callable[[], bytes] = bytes) -> None:
    """Keeps `count` connections open. Each sends a request, then the bytes of `more`, and reads nothing."""
    opened: list[tuple[float, socket.socket]] = []
    while time.monotonic() < end:
        with suppress(OSError):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(5)
            connection.connect(("127.0.0.1", port))
            connection.sendall(request)
            connection.settimeout(0)
            opened.append((time.monotonic() + HOLD_SECONDS, connection))
        for _, connection in opened:
            with suppress(OSError):
                connection.send(more())
        while opened and (len(opened) > count or opened[0][0] < time.monotonic()):
            opened.pop(0)[1].close()
        time.sleep(0.05)
    for _, connection in opened:
        connection.close()


def unread_exports(port: int, end: float, greedy: Headers) -> None:
    """Starts eight downloads of all traces of one caller and does not read them."""
    _hold(port, end, 8, _request("GET", "/traces/export?format=ndjson", **greedy))


def unread_streams(port: int, end: float, greedy: Headers) -> None:
    """Starts runs with a mebibyte of events and reads none of them."""
    _hold(port, end, 200, _request("POST", "/workflows/long-winded/runs", b"message=1", **greedy))


def endless_runs(port: int, end: float, greedy: Headers) -> None:
    """Starts runs that take a minute."""
    body = b"stream=false&background=true&message=" + b"x" * 10_000
    _hold(port, end, 20, _request("POST", "/agents/slow/runs", body, **greedy))


def unread_pages(port: int, end: float, _greedy: Headers) -> None:
    """Requests public pages thirty times on each connection and reads none."""
    _hold(port, end, 80, _request("GET", "/docs") * 30)


def slow_heads(port: int, end: float, _greedy: Headers) -> None:
    """Sends request heads byte by byte."""
    _hold(port, end, 200, b"GET / HTTP/1.1\r\nX: ", lambda: b"x")


def unfinished_messages(port: int, end: float, _greedy: Headers) -> None:
    """Opens sockets without a token, and sends endless messages as fast as they are accepted."""
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    key = base64.b64encode(os.urandom(16)).decode()
    begin = _request("GET", "/workflows/ws", **upgrade, **{"Sec-WebSocket-Key": key})
    begin += b"\x01\x80" + bytes(4)  # the first fragment of a text, masked with zeros
    piece = b"\x00\xff" + (65536).to_bytes(8) + bytes(4) + b"x" * 65536
    _hold(port, end, 24, begin, lambda: piece)


def bombs(port: int, end: float, greedy: Headers) -> None:
    """Sends decompression bombs and other oversized bodies."""
    load_generators.bomb(port, end, 2, greedy)


def deletions(port: int, end: float, greedy: Headers) -> None:
    """Stores traces and deletes them again."""
    headers = {"Content-Type": "application/json", **greedy}
    body = json.dumps({"filter": {"op": "EQ", "key": "session_id", "value": "to delete"}})
    number = 0
    while time.monotonic() < end:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        with suppress(OSError, HTTPException):
            for _ in range(20):
                number += 1
                names = {"user.id": GREEDY, "session.id": "to delete"}
                export = export_request(f"dead{number:028x}", "b" * 16, **names)
                for path, sent in (("/v1/traces", export), ("/traces/delete", body)):
                    connection.request("POST", path, sent, headers)
                    connection.getresponse().read()
        connection.close()


def malformed(port: int, end: float, greedy: Headers) -> None:
    """Sends malformed bodies."""
    headers = {"Content-Type": "application/json", **greedy}
    bodies = [
        b'{"group_by":"\xff"}',
        b"[" * 100_000,
        b'{"limit":1e999}',
        b'{"filter":{"op":"\xed\xa0\x80"}}',
        b"{" * 1000,
    ]
    while time.monotonic() < end:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        with suppress(OSError, HTTPException):
            for body in bodies * 20:
                connection.request("POST", "/traces/search", body, headers)
                connection.getresponse().read()
                time.sleep(0.01)
        connection.close()


def costly_questions(port: int, end: float, greedy: Headers) -> None:
    """Searches for phrases whose words are in all large texts of a caller, a different phrase each time."""
    headers = {"Content-Type": "application/json", **greedy}
    text = " ".join(f"w{number % 5000}" for number in range(MEBIBYTE // 6))
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    number = 0
    while time.monotonic() < end:
        with suppress(OSError, HTTPException):
            if number < 32:
                names = {"user.id": GREEDY, "input.value": text}
                path, body = "/v1/traces", export_request(f"c057{number:028x}", "b" * 16, **names)
            else:
                phrase = {"op": "CONTAINS", "key": "text", "value": f"w{number % 5000} w{number * 7 % 5000}"}
                path, body = "/traces/search", json.dumps({"filter": phrase}).encode()
            connection.request("POST", path, body, headers)
            connection.getresponse().read()
            number += 1
            continue
        connection.close()


def run(case: Callable[[int, float, Headers], None], port: int, end: float, greedy: Headers) -> None:
    """Runs one case at low priority. On one machine, clients would otherwise take the processors of the service."""
    os.nice(NICENESS)
    case(port, end, greedy)


CASES = (
    unread_exports,
    unread_streams,
    endless_runs,
    unread_pages,
    slow_heads,
    unfinished_messages,
    bombs,
    deletions,
    malformed,
    costly_questions,
)


def fill(port: int, greedy: Headers) -> None:
    """Stores traces of the greedy caller that are larger than the kernel's buffers for a client that does not read."""
    headers = {"Content-Type": "application/json", **greedy}
    for number in range(4):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        text = chr(65 + number) * (3 * MEBIBYTE)
        export = export_request(f"{number + 1:032x}", "b" * 16, text=text, **{"user.id": GREEDY})
        connection.request("POST", "/v1/traces", export, headers)
        assert connection.getresponse().status == 200
        connection.close()
