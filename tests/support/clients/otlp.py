"""OTLP requests: those captured in `tests/otlp`, and small ones built by tests."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, convert

from support.paths import OTLP

if TYPE_CHECKING:
    import httpx


class Capture(Struct, frozen=True):
    """One captured request."""

    file: str
    framework: str
    case: str
    content_type: str
    content_encoding: str
    trace_ids: list[str]
    derived: bool

    @property
    def body(self) -> bytes:
        return (OTLP / self.file).read_bytes()

    def send(self, client: httpx.Client) -> httpx.Response:
        """Sends the request as its exporter sent it and returns the response."""
        headers = {"Content-Type": self.content_type}
        if self.content_encoding != "identity":
            headers["Content-Encoding"] = self.content_encoding
        return client.post("/v1/traces", content=self.body, headers=headers)


class CapturedTrace(Struct, frozen=True):
    """The manifest's entry about one captured trace."""

    trace_id: str
    spans: int
    error_spans: int


@cache
def _manifest() -> dict[str, list[dict[str, object]]]:
    manifest: dict[str, list[dict[str, object]]] = json.loads((OTLP / "manifest.json").read_text("utf-8"))
    return manifest


def captures() -> list[Capture]:
    """Returns every captured request, in order of arrival within a case."""
    return convert(_manifest()["files"], list[Capture])


def captured_traces() -> list[CapturedTrace]:
    """Returns every captured trace once."""
    found = {
        trace.trace_id: trace
        for case in _manifest()["cases"]
        if case["framework"] != "collector"
        for trace in convert(case["traces"], list[CapturedTrace])
    }
    return list(found.values())


def export_request(trace_id: str, *span_ids: str, **attributes: str) -> bytes:
    """Returns an OTLP/JSON request with one trace, whose first span is the parent of the others."""
    now = time.time_ns()
    spans = [
        {
            "traceId": trace_id,
            "spanId": span_id,
            "parentSpanId": "" if span_id == span_ids[0] else span_ids[0],
            "name": f"span {span_id}",
            "startTimeUnixNano": str(now),
            "endTimeUnixNano": str(now + 1_000_000),
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        }
        for span_id in span_ids
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
