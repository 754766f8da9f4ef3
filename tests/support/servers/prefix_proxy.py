"""A reverse proxy that serves a service below a path prefix, as company proxies do."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

SESSION = "session=of-the-proxy"
"""The cookie of a browser signed in at the proxy."""


class _Request(BaseHTTPRequestHandler):
    proxy: PrefixProxy

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _forward(self) -> None:
        """Relays the response as it arrives, so that event streams are not buffered."""
        self.close_connection = True
        prefix = self.proxy.prefix
        if not self.path.startswith(f"{prefix}/"):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        del self.headers["Connection"]
        if self.proxy.token and SESSION in self.headers.get("Cookie", ""):
            self.headers["Authorization"] = f"Bearer {self.proxy.token}"
        head = f"{self.command} {self.path.removeprefix(prefix)} HTTP/1.1\r\nConnection: close\r\n{self.headers}"
        with socket.create_connection(("127.0.0.1", self.proxy.target)) as upstream:
            upstream.sendall(head.encode("latin-1").replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") + body)
            try:
                while received := upstream.recv(65536):
                    self.wfile.write(received)
            except ConnectionError:
                return  # the browser has disconnected

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = _forward  # noqa: N815  # the names of the base class


class PrefixProxy(ThreadingHTTPServer):
    """Serves `http://127.0.0.1:<port><prefix>/`, and strips the prefix. Use it as a context manager.

    Attributes:
        url: the external address of the service.
    """

    daemon_threads = True

    def __init__(self, target: int, prefix: str, token: str | None = None) -> None:
        """Listens on a free port.

        Args:
            target: the port of the service.
            prefix: the prefix, with a leading slash and no trailing one.
            token: sent to the service with the requests of browsers that have the cookie `SESSION`.
        """
        super().__init__(("127.0.0.1", 0), type("Request", (_Request,), {"proxy": self}))
        self.target = target
        self.prefix = prefix
        self.token = token
        self.url = f"http://127.0.0.1:{self.server_port}{prefix}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
