"""The two servers on the loopback interface: the stub of the model APIs, and the receiver of OTLP requests."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from msgspec import Struct

from .apis import (
    ModelRequest,
    ModelResponse,
    anthropic_messages,
    bedrock,
    gemini,
    openai_chat,
    openai_embeddings,
    openai_responses,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .replies import Script

APIS = (openai_chat, openai_responses, openai_embeddings, anthropic_messages, gemini, bedrock)
OTLP_PATH = re.compile(r"/v1/(?P<signal>traces|logs|metrics)$")


class Export(Struct, frozen=True):
    """One received OTLP request."""

    signal: str
    content_type: str
    content_encoding: str
    body: bytes


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def answer(self, response: ModelResponse) -> None:
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name in the base class
        """Writes no log."""


@contextmanager
def _running(handler: type[_Handler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def model_stub(script: Script) -> Iterator[str]:
    """Yields the URL of a server of all model APIs that returns the replies of `script`."""

    class Stub(_Handler):
        def do_POST(self) -> None:
            body = self.body()
            path = self.path.split("?")[0]
            for api in APIS:
                if match := re.search(api.PATH, path):
                    number, reply = script.next(body.decode())
                    return self.answer(api.respond(ModelRequest(match, json.loads(body), number), reply))
            script.unanswered.append(f"POST {path}")
            return self.answer(ModelResponse.of_json({"error": {"message": f"no model API at {path}"}}, 404))

        def do_GET(self) -> None:
            script.unanswered.append(f"GET {self.path}")
            self.answer(ModelResponse.of_json({"error": {"message": f"no model API at {self.path}"}}, 404))

    with _running(Stub) as url:
        yield url


@contextmanager
def otlp_receiver(exports: list[Export]) -> Iterator[str]:
    """Yields the URL of a server that appends received OTLP requests to `exports`, in order of arrival."""

    class Receiver(_Handler):
        def do_POST(self) -> None:
            body = self.body()
            content_type = self.headers.get("Content-Type", "").split(";")[0]
            match = OTLP_PATH.search(self.path.split("?")[0])
            if not match:
                return self.answer(ModelResponse.of_json({}, 404))
            encoding = self.headers.get("Content-Encoding", "identity")
            exports.append(Export(match["signal"], content_type, encoding, body))
            empty = b"{}" if content_type == "application/json" else b""
            return self.answer(ModelResponse(empty, content_type=content_type))

    with _running(Receiver) as url:
        yield url
