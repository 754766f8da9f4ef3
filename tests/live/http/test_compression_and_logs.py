"""Compression of responses, and the log events of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import export_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.services.process import RunningService

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_page_is_smaller_on_the_wire_and_the_same(start: Callable[..., RunningService], encoding: str) -> None:
    service = start()
    for number in range(1, 50):
        service.http.post(
            "/v1/traces", content=export_request(f"{number:032x}", "b" * 16), headers=JSON
        ).raise_for_status()
    plain = service.http.get("/traces", params={"limit": 100}, headers={"Accept-Encoding": "identity"})
    with service.http.stream(
        "GET", "/traces", params={"limit": 100}, headers={"Accept-Encoding": encoding}
    ) as response:
        sent = b"".join(response.iter_raw())
    assert response.headers["content-encoding"] == encoding
    assert response.headers["cache-control"] == "no-store"
    assert len(sent) < len(plain.content) / 2
    if encoding == "gzip":
        unpacked = service.http.get("/traces", params={"limit": 100}, headers={"Accept-Encoding": encoding})
        assert unpacked.json()["data"] == plain.json()["data"]
    assert "content-encoding" not in service.http.get("/health").headers


def test_each_request_is_an_event_that_names_its_trace(start: Callable[..., RunningService]) -> None:
    service = start("--log-level", "debug")
    trace_id = "ab" * 16
    headers = {"traceparent": f"00-{trace_id}-{'c' * 16}-01", "X-Request-ID": "asked-1"}
    service.http.get("/traces/filter-schema", headers=headers)
    assert service.stop() == 0
    (event,) = [event for event in service.events() if event.get("request_id") == "asked-1"]
    assert event["trace_id"] == trace_id
    assert event["level"] == "debug"
    assert event["message"].startswith("GET /traces/filter-schema: 200, ")


def test_the_log_is_text_if_configured(start: Callable[..., RunningService]) -> None:
    service = start("--log-format", "text")
    assert service.stop() == 0
    assert service.log.read_text().splitlines()[-1].endswith(" info spanwise.http.server: stopped")
