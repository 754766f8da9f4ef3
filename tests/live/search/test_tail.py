"""Tails: committed traces arrive once, later spans arrive as updates; resumption, slow readers, isolation, ends."""

from __future__ import annotations

import re
import secrets
import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from spanwise.traces.tail import MAX_TAILS
from support.clients.otlp import export_request
from support.clients.tail import tail
from support.clients.tokens import as_admin, as_caller, bearer, claims, jwks_file, signing_key
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.services.process import RunningService

JSON = {"Content-Type": "application/json"}
READ = "traces:read"
DROPPED = re.compile(rb'event: dropped\ndata: \{"count":(\d+)\}')


def of_agent(agent: str) -> dict[str, object]:
    return {"op": "EQ", "key": "agent_id", "value": agent}


@pytest.fixture
def agent() -> str:
    """The agent of the traces of one test."""
    return f"agent-{secrets.token_hex(8)}"


def send(service: RunningService, agent: str, *span_ids: str, trace_id: str = "", **attributes: str) -> str:
    trace_id = trace_id or secrets.token_hex(16)
    named = {"agno.agent.id": agent, "openinference.span.kind": "AGENT"} | attributes
    body = export_request(trace_id, *(span_ids or ("b" * 16,)), **named)
    headers = JSON | (as_admin() if "--authorization" in service.process.args else {})  # type: ignore[operator]
    service.http.post("/v1/traces", content=body, headers=headers).raise_for_status()
    return trace_id


def found(service: RunningService, trace_id: str) -> dict[str, Any]:
    (item,) = service.items(filter={"op": "EQ", "key": "trace_id", "value": trace_id}, detail="summary")
    return item


def test_what_is_committed_arrives_as_a_search_shows_it(service: RunningService, agent: str) -> None:
    send(service, agent)
    with tail(service, filter=of_agent(agent)) as reader:
        headers = reader.response.headers
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        assert (headers["x-accel-buffering"], headers["cache-control"]) == ("no", "no-store")
        send(service, "somebody-else")
        trace_id = send(service, agent, text="hello")
        assert reader.trace() == found(service, trace_id)
        assert reader.rest(1.5) == []


def test_late_spans_are_one_update_with_the_last_state(service: RunningService, agent: str) -> None:
    with tail(service, filter=of_agent(agent)) as reader:
        trace_id = send(service, agent)
        assert "update" not in reader.trace()
        for number in range(5):
            send(service, agent, "b" * 16, f"{number + 1:016x}", trace_id=trace_id)
        updates = [event.data for event in reader.rest(2.5)]
        assert 1 <= len(updates) <= 2
        assert updates[-1] == found(service, trace_id) | {"update": True}
        assert updates[-1]["total_spans"] == 6


def test_a_trace_that_comes_to_match_is_no_update(service: RunningService, agent: str) -> None:
    expression = {"op": "AND", "conditions": [of_agent(agent), {"op": "GT", "key": "total_spans", "value": 1}]}
    with tail(service, filter=expression) as reader:
        trace_id = send(service, agent)
        assert reader.rest(0.5) == []
        send(service, agent, "b" * 16, "c" * 16, trace_id=trace_id)
        assert "update" not in reader.trace()


def test_a_lost_connection_is_resumed_without_a_gap(service: RunningService, agent: str) -> None:
    with tail(service, filter=of_agent(agent)) as reader:
        first = send(service, agent)
        assert reader.trace()["trace_id"] == first
        position = reader.last_id
        lost = send(service, agent)
        assert reader.trace()["trace_id"] == lost
    missed = send(service, agent)
    with tail(service, last_id=position, resumes=True, filter=of_agent(agent)) as reader:
        sent = [reader.trace() for _ in range(2)]
        assert {each["trace_id"] for each in sent} == {lost, missed}
        assert all("update" not in each for each in sent)
        send(service, agent, "b" * 16, "c" * 16, trace_id=first)
        assert reader.trace()["update"] is True


def test_a_stream_that_another_request_resumes_ends(service: RunningService, agent: str) -> None:
    with tail(service, filter=of_agent(agent)) as stuck:
        trace_id = send(service, agent)
        assert stuck.trace()["trace_id"] == trace_id
        with tail(service, last_id=stuck.last_id, resumes=True, filter=of_agent(agent)) as reader:
            assert stuck.until("end")[-1].data == {"reason": "replaced"}
            assert stuck.next() is None
            later = send(service, agent)
            assert reader.trace()["trace_id"] == later


@pytest.mark.parametrize("last_id", ["", "7", "x.1", "x.-1", "a" * 2_000, "." * 50])
def test_a_position_that_is_not_held_is_said_to_be_lost(service: RunningService, agent: str, last_id: str) -> None:
    with tail(service, last_id=last_id, resumes=False, filter=of_agent(agent)) as reader:
        trace_id = send(service, agent)
        assert reader.trace()["trace_id"] == trace_id


def test_a_position_is_for_its_filter_and_says_nothing_of_others(service: RunningService, agent: str) -> None:
    with tail(service, filter=of_agent(agent)) as reader:
        send(service, agent)
        reader.trace()
        before = reader.last_id
        for _ in range(5):
            send(service, "others")
        send(service, agent)
        reader.trace()
        (name, first), (same, second) = before.split("."), reader.last_id.split(".")
        assert (same, int(second)) == (name, int(first) + 1)
    with tail(service, last_id=reader.last_id, resumes=False, filter=of_agent("another")):
        pass


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"filter": {"op": "XX"}}, 400, "unknown operator"),
        ({"filter": [1]}, 422, "at `$.filter`"),
        ({"detail": "full"}, 422, "at `$.detail`"),
    ],
)
def test_what_is_wrong_is_said_before_the_stream(
    service: RunningService, body: dict[str, object], status: int, text: str
) -> None:
    response = service.http.post("/traces/tail", json=body)
    assert response.status_code == status
    assert text in response.json()["detail"]


def unread(service: RunningService, agent: str) -> socket.socket:
    """Opens a tail with small buffers and does not read its response."""
    connection = socket.socket()
    connection.settimeout(60)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", service.port))
    body = b'{"filter":{"op":"EQ","key":"agent_id","value":"%s"}}' % agent.encode()
    head = (
        "POST /traces/tail HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def requests_of(agent: str, count: int, size: int) -> Iterator[bytes]:
    for first in range(0, count, size):
        traces = [
            export_request(secrets.token_hex(16), "b" * 16, **{"agno.agent.id": agent, "input.value": "x" * 400})
            for _ in range(first, min(first + size, count))
        ]
        yield b'{"resourceSpans":[' + b",".join(each[len(b'{"resourceSpans": [') : -2] for each in traces) + b"]}"


def test_a_reader_that_is_slow_is_told_how_many_of_its_own_matches_were_dropped(
    service: RunningService, agent: str
) -> None:
    count = 12_000
    with unread(service, agent) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        for body in requests_of(agent, count, 500):
            service.http.post("/v1/traces", content=body, headers=JSON).raise_for_status()
            send(service, "others")
        time.sleep(0.5)
        text = b""
        sent = dropped = 0
        while sent + dropped < count:
            piece = connection.recv(1 << 16)
            assert piece, (sent, dropped)
            text += piece
            sent = text.count(b"\nevent: trace\n")
            dropped = sum(map(int, DROPPED.findall(text)))
        assert sent + dropped == count
        assert dropped > 0
        assert b"others" not in text


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("tailed")
    with start_hosted(folder, "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as running:
        yield running
        assert running.stop() == 0


def test_nobody_sees_traces_of_others(guarded: RunningService, agent: str) -> None:
    with (
        tail(guarded, as_caller("ann", READ), filter=of_agent(agent)) as ann,
        tail(guarded, as_caller("bob", READ)) as bob,
        tail(guarded, as_admin(), filter=of_agent(agent)) as admin,
    ):
        of_ann = send(guarded, agent, **{"user.id": "ann"})
        assert ann.trace()["trace_id"] == of_ann
        assert admin.trace()["trace_id"] == of_ann
        # The root of the trace arrives late and identifies the owner.
        of_bob = secrets.token_hex(16)
        send(guarded, agent, trace_id=of_bob, **{"user.id": "bob"})
        assert bob.trace()["trace_id"] == of_bob
        assert admin.trace()["trace_id"] == of_bob
        assert ann.rest(1.0) == []
    with tail(guarded, as_caller("bob", READ), last_id=ann.last_id, resumes=False, filter=of_agent(agent)):
        pass


def test_a_scope_is_needed(guarded: RunningService) -> None:
    assert guarded.http.post("/traces/tail", json={}).status_code == 401
    assert guarded.http.post("/traces/tail", json={}, headers=as_caller("ann", "traces:write")).status_code == 403


def test_a_stream_ends_when_its_token_has_expired(guarded: RunningService) -> None:
    expiring = claims("ann", READ) | {"exp": int(time.time()) + 3}
    with tail(guarded, bearer(signing_key().sign(expiring))) as reader:
        (event,) = reader.until("end")
        assert (event.id, event.data) == ("", {"reason": "token_expired"})
        assert reader.next() is None
    with tail(guarded, as_caller("ann", READ), last_id=reader.last_id, resumes=True):
        pass


def until_all_have_left(service: RunningService) -> None:
    deadline = time.monotonic() + 20
    while "spanwise_tails 0" not in service.http.get("/metrics", headers=as_admin()).text:
        assert time.monotonic() < deadline, "places are not given back"
        time.sleep(0.1)


def test_readers_are_shared_among_callers(guarded: RunningService) -> None:
    until_all_have_left(guarded)
    with ExitStack() as opened:
        url = f"{guarded.url}/traces/tail"
        client = opened.enter_context(httpx.Client(timeout=30, limits=httpx.Limits(max_connections=None)))

        def status(sub: str) -> int:
            response = opened.enter_context(client.stream("POST", url, json={}, headers=as_caller(sub, READ)))
            return response.status_code

        assert [status("greedy") for _ in range(MAX_TAILS)] == [200] * 48 + [503] * 16
        assert status("modest") == 200
        rejected = client.post(url, json={}, headers=as_caller("greedy", READ))
        assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "1")
        assert rejected.json()["detail"] == "more than 64 tails at once"
    until_all_have_left(guarded)


def test_a_shutdown_ends_streams(start: Callable[..., RunningService], agent: str) -> None:
    service = start()
    with tail(service, filter=of_agent(agent)) as reader, tail(service):
        assert service.stop() == 0
        (event,) = reader.until("end")
        assert event.data == {"reason": "shutdown"}
        assert reader.next() is None
    service = start()
    with tail(service, last_id=reader.last_id, resumes=False, filter=of_agent(agent)):
        pass


def test_ingest_does_not_wait_for_a_reader_that_takes_nothing(start: Callable[..., RunningService]) -> None:
    """Events that a reader does not read take no memory of the service and do not delay ingest."""
    service = start("--write-deadline-seconds", "3600")
    with ExitStack() as opened:
        for _ in range(40):
            connection = opened.enter_context(unread(service, "all"))
            assert connection.recv(12) == b"HTTP/1.1 200"
        for body in requests_of("all", 10_000, 500):
            service.http.post("/v1/traces", content=body, headers=JSON).raise_for_status()
        assert service.http.post("/traces/search", json={"limit": 1}).json()["meta"]["total_count"] == 10_000
        metrics = service.http.get("/metrics").text
        (unread_bytes,) = [line for line in metrics.splitlines() if line.startswith("spanwise_response_buffer_bytes ")]
        assert float(unread_bytes.split()[1]) <= 40 * (512 << 10)
