"""An HTTP proxy that injects faults, and may rewrite requests for its server."""

from __future__ import annotations

import http.client
import socket
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Translate = Callable[[str, dict[str, str]], tuple[str, dict[str, str]]]


# Status, headers and body of the responses, by fault.
_ERROR_RESPONSES: dict[str | None, tuple[int, dict[str, str], bytes]] = {
    "slow down": (
        503,
        {},
        b"<Error><Code>SlowDown</Code><Message>a-secret-that-nobody-may-see</Message></Error>",
    ),
    "forbidden": (403, {}, b"<Error><Code>AccessDenied</Code></Error>"),
}


class _Request(BaseHTTPRequestHandler):
    proxy: Proxy

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        kind = f"{self.command} {unquote(self.path.split('?')[0])}"
        fault = self.proxy.fault_for(kind)
        if fault in _ERROR_RESPONSES:
            return self._respond(*_ERROR_RESPONSES[fault])
        if fault == "cut before":
            return self._cut()
        if fault == "stall":
            self.proxy.stopped.wait(3)
            return self._cut()
        status, headers, content = self._forward(body)
        if fault == "cut after":
            return self._cut()
        if fault == "half":
            self._respond(status, headers, content, sent=content[: len(content) // 2])
            return self._cut()
        return self._respond(status, headers, content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815  # the names of the base class

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = http.client.HTTPConnection("127.0.0.1", self.proxy.target, timeout=30)
        path, headers = self.proxy.translate(self.path, dict(self.headers.items()))
        upstream.request(self.command, path, body, headers)
        response = upstream.getresponse()
        content = response.read()
        upstream.close()
        return response.status, dict(response.getheaders()), content

    def _respond(self, status: int, headers: dict[str, str], content: bytes, sent: bytes | None = None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"connection", "transfer-encoding", "content-length"}:
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length)
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content if sent is None else sent)
        self.close_connection = True

    def _cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)


class Proxy(ThreadingHTTPServer):
    """Forwards requests to a server, except those that a test injects a fault into. Use it as a context manager."""

    daemon_threads = True

    def __init__(self, target: int, translate: Translate = lambda path, headers: (path, headers)) -> None:
        """Listens on a free port.

        Args:
            target: the port of the server.
            translate: rewrites the path and headers of a request for that server.
        """
        super().__init__(("127.0.0.1", 0), type("Request", (_Request,), {"proxy": self}))
        self.target = target
        self.translate = translate
        self.stopped = threading.Event()
        self.outcomes: Counter[str] = Counter()
        self._rule: Callable[[str], str | None] = lambda _: None
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Logs nothing, because tests cut connections on purpose."""

    def fault_for(self, kind: str) -> str | None:
        """Returns the fault to inject into a request, given as `METHOD PATH`; `None` forwards it."""
        fault = self._rule(kind)
        self.outcomes[fault or "forwarded"] += 1
        return fault

    @contextmanager
    def injecting(self, rule: Callable[[str], str | None]) -> Iterator[None]:
        """Injects the fault that `rule` returns for a request, until the end of the block."""
        self._rule = rule
        try:
            yield
        finally:
            self._rule = lambda _: None
