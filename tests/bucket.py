"""A real S3 server in a process of its own, and a proxy before it that misbehaves when told to."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Self

import httpx
from running import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START_SECONDS = 30
BUCKET = "spanwise-tests"
CREDENTIAL = "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
SECRET = "a-secret-that-nobody-may-see"  # noqa: S105  # it is looked for where it must not be


class S3Server:
    """A server with one bucket. Always leave it by `with`."""

    def __init__(self, log: Path) -> None:
        """Starts the server and creates the bucket; what it says goes to `log`."""
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        with log.open("wb") as output:
            script = Path(__file__).with_name("s3_server.py")
            self._process = subprocess.Popen([sys.executable, script, str(self.port)], stdout=output, stderr=output)
        # The server asks for a signature, and does not look at it.
        self._http = httpx.Client(base_url=f"{self.endpoint}/{BUCKET}", headers={"Authorization": CREDENTIAL})
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self._http.put("").raise_for_status()
                break
            except httpx.TransportError:
                assert self._process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()
        self._process.kill()
        self._process.wait()

    def keys(self, prefix: str) -> list[str]:
        """Returns the names of the objects that begin with `prefix`."""
        answer = self._http.get("", params={"list-type": "2", "prefix": prefix})
        text = answer.raise_for_status().text
        return [piece.split("</Key>")[0] for piece in text.split("<Key>")[1:]]

    def content(self, key: str) -> bytes:
        """Returns the content of one object."""
        return self._http.get(key).raise_for_status().content

    def replace(self, key: str, content: bytes) -> None:
        """Writes an object over another."""
        self._http.put(key, content=content).raise_for_status()


def environment(endpoint: str) -> dict[str, str]:
    """Returns the variables with which a store reaches the bucket at `endpoint`, soon out of patience."""
    return {
        "AWS_ENDPOINT": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_READ_TIMEOUT": "1 second",
    }


class _Request(BaseHTTPRequestHandler):
    proxy: Proxy

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        kind = f"{self.command} {self.path.split('?')[0]}"
        fault = self.proxy.fault_of(kind)
        if fault == "slow down":
            text = b"<Error><Code>SlowDown</Code><Message>a-secret-that-nobody-may-see</Message></Error>"
            return self._answer(503, {}, text)
        if fault == "cut before":
            return self._cut()
        if fault == "stall":
            self.proxy.stopped.wait(3)
            return self._cut()
        status, headers, content = self._forward(body)
        if fault == "cut after":
            return self._cut()
        if fault == "half":
            self._answer(status, headers, content, sent=content[: len(content) // 2])
            return self._cut()
        return self._answer(status, headers, content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815  # the names of the base class

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        upstream = http.client.HTTPConnection("127.0.0.1", self.proxy.target, timeout=30)
        upstream.request(self.command, self.path, body, dict(self.headers.items()))
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        return answer.status, dict(answer.getheaders()), content

    def _answer(self, status: int, headers: dict[str, str], content: bytes, sent: bytes | None = None) -> None:
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
    """Passes requests on to a server, unless a test says what becomes of them. Always leave it by `with`."""

    daemon_threads = True

    def __init__(self, target: int) -> None:
        """Listens on a free port; `target` is the port of the server behind."""
        super().__init__(("127.0.0.1", 0), type("Request", (_Request,), {"proxy": self}))
        self.target = target
        self.endpoint = f"http://127.0.0.1:{self.server_port}"
        self.stopped = threading.Event()
        self.seen: Counter[str] = Counter()
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
        """Says nothing: connections are cut on purpose."""

    def fault_of(self, kind: str) -> str | None:
        """Returns what becomes of a request, by its method and path; `None`: it is passed on."""
        fault = self._rule(kind)
        self.seen[fault or "passed on"] += 1
        return fault

    @contextmanager
    def misbehaving(self, rule: Callable[[str], str | None]) -> Iterator[None]:
        """Lets `rule` say what becomes of requests meanwhile."""
        self._rule = rule
        try:
            yield
        finally:
            self._rule = lambda _: None
