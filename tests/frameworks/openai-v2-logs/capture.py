"""Captures the exports of the OpenAI SDK when its messages are log records.

Run with an interpreter that has `openai`, `httpx`, `opentelemetry-instrumentation-openai-v2` and
`opentelemetry-exporter-otlp-proto-http`:

    python capture.py

It starts a stub of the model's API and a receiver on the loopback interface. It runs each case of `program.py` in its
own process, and writes the bodies of its requests to `exports/`, with `manifest.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import ClassVar

EXPORTS = Path(__file__).parent / "exports"
PROGRAM = Path(__file__).parent / "program.py"
PACKAGES = ("openai", "opentelemetry-instrumentation-openai-v2", "opentelemetry-util-genai", "opentelemetry-sdk")
LEGACY = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
EVENTS = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "event_only",
    "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true",
}
CASES = {"tool": LEGACY, "stream": LEGACY, "operation-details": EVENTS}
ANSWER = "It rains in Paris, at 14 degrees."
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
}


class Model(BaseHTTPRequestHandler):
    """A model that requests the weather tool until it has its result, and answers otherwise."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        has_result = any(message["role"] == "tool" for message in request["messages"])
        is_call = "tools" in request and not has_result
        message = (
            {"role": "assistant", "content": None, "tool_calls": [CALL]}
            if is_call
            else {
                "role": "assistant",
                "content": ANSWER,
            }
        )
        finish = "tool_calls" if is_call else "stop"
        usage = {"prompt_tokens": 21, "completion_tokens": 9, "total_tokens": 30}
        head: dict[str, object] = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4.1-2025-04-14"}
        if request.get("stream"):
            deltas = [{"role": "assistant", "content": "It rains in "}, {"content": "Paris, at 14 degrees."}]
            chunks: list[dict[str, object]]
            chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
            chunks.append({"index": 0, "delta": {}, "finish_reason": "stop"})
            events = [head | {"object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
            events.append(head | {"object": "chat.completion.chunk", "choices": [], "usage": usage})
            lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
            return self._respond(lines.encode(), "text/event-stream")
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        response = head | {"object": "chat.completion", "choices": choices, "usage": usage}
        return self._respond(json.dumps(response).encode(), "application/json")

    def _respond(self, body: bytes, content_type: str) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Writes no log."""


class Receiver(Model):
    """Keeps the requests of exporters."""

    requests: ClassVar[list[tuple[str, str, str | None, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        encoding = self.headers.get("content-encoding")
        self.requests.append((self.path, self.headers["content-type"], encoding, body))
        self._respond(b"", self.headers["content-type"])


def serve(handler: type[Model]) -> tuple[ThreadingHTTPServer, str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def capture() -> None:
    EXPORTS.mkdir(exist_ok=True)
    for old in EXPORTS.iterdir():
        old.unlink()
    model_server, model = serve(Model)
    receiver_server, receiver = serve(Receiver)
    files = []
    for case, variables in CASES.items():
        Receiver.requests.clear()
        environment = os.environ | variables | {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver}
        subprocess.run([sys.executable, PROGRAM, case, model], env=environment, check=True)
        for number, (path, content_type, encoding, body) in enumerate(Receiver.requests, 1):
            name = f"{case}-{number:02}-{path.rsplit('/', 1)[1]}.pb"
            (EXPORTS / name).write_bytes(body)
            files.append(
                {
                    "case": case,
                    "file": name,
                    "path": path,
                    "content_type": content_type,
                    "content_encoding": encoding,
                }
            )
    for server in (model_server, receiver_server):
        server.shutdown()
    manifest = {"packages": {name: version(name) for name in PACKAGES}, "files": files}
    (EXPORTS / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    capture()
