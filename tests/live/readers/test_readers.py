"""A writer and its readers, over a folder and a bucket: acknowledged traces are found soon, even after failures."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

from spanwise.http.responses.as_of import AS_OF_HEADER
from support.clients.grpc import UNAVAILABLE, GrpcClient
from support.clients.otlp import export_request
from support.clients.tail import tail
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
FIRST, SECOND, THIRD = "1" * 32, "2" * 32, "3" * 32
PATIENCE = 30.0
WRITER_URL = "https://writer.example"
REFUSAL = "this process only reads traces"


class Place(NamedTuple):
    """The location of a store, and how services are started over it."""

    start: Callable[..., RunningService]

    def writer(self, name: str = "writer", *flags: str) -> RunningService:
        return self.start(name, *flags)

    def reader(self, name: str = "reader", *flags: str, is_ready: bool = True) -> RunningService:
        return self.start(name, "--reader", "--writer-url", WRITER_URL, *flags, is_ready=is_ready)


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    data_dir = str(tmp_path / "data")
    if request.param == "bucket":
        request.getfixturevalue("reach")
        data_dir = request.getfixturevalue("url")
    opened: list[RunningService] = []

    def start(name: str, *flags: str, is_ready: bool = True) -> RunningService:
        own: tuple[str, ...] = ("--data-dir", data_dir)
        if request.param == "bucket":
            own += ("--cache-dir", str(tmp_path / name / "cache"))
        (tmp_path / name).mkdir(exist_ok=True)
        opened.append(RunningService(tmp_path / name / "own", *own, *flags, is_ready=is_ready))
        return opened[-1]

    yield Place(start)
    for service in opened:
        service.http.close()
        service.kill()


def export(service: RunningService, trace_id: str) -> httpx.Response:
    body = export_request(trace_id, "00000000000000a1", "00000000000000a2")
    return service.http.post("/v1/traces", content=body, headers=JSON)


def delete(service: RunningService, trace_id: str) -> httpx.Response:
    doomed = {"filter": {"op": "EQ", "key": "trace_id", "value": trace_id}}
    return service.http.post("/traces/delete", json=doomed)


def test_what_a_writer_acknowledges_its_readers_find(place: Place) -> None:
    writer = place.writer()
    export(writer, FIRST).raise_for_status()
    readers = [place.reader("one"), place.reader("two")]
    for reader in readers:
        assert reader.trace_ids() == [FIRST]
    export(writer, SECOND).raise_for_status()
    for reader in readers:
        reader.wait_until_found(FIRST, SECOND)
    delete(writer, FIRST).raise_for_status()
    for reader in readers:
        reader.wait_until_found(SECOND)
        shown = reader.http.get(f"/traces/{SECOND}").raise_for_status()
        assert shown.json()["total_spans"] == 2
        assert reader.http.get(f"/traces/{FIRST}").status_code == 404
    export(writer, FIRST).raise_for_status()
    for reader in readers:
        reader.wait_until_found(FIRST, SECOND)
        assert reader.stop() == 0
        assert all(event["level"] in {"info", "warning"} for event in reader.events()), reader.log.read_text()


def test_answers_say_up_to_when_they_know_everything(place: Place) -> None:
    writer = place.writer()
    reader = place.reader()
    export(writer, FIRST).raise_for_status()
    acknowledged = datetime.now(UTC)
    deadline = time.monotonic() + PATIENCE
    while datetime.fromisoformat((answer := reader.search()).headers[AS_OF_HEADER]) < acknowledged:
        assert time.monotonic() < deadline
    assert [item["trace_id"] for item in answer.json()["data"]] == [FIRST]
    for response in (
        reader.http.get("/traces"),
        reader.http.get(f"/traces/{FIRST}"),
        reader.http.get("/trace_session_stats"),
        reader.http.get("/traces/export?format=otlp"),
        reader.http.get("/traces/attributes"),
        reader.http.post("/traces/aggregate", json={"measures": [{"name": "traces", "op": "COUNT"}]}),
        reader.http.post("/traces/facets", json={"fields": ["status"]}),
        reader.http.post("/spans/search", json={}),
        writer.search(),
    ):
        age = datetime.now(UTC) - datetime.fromisoformat(response.raise_for_status().headers[AS_OF_HEADER])
        assert 0 <= age.total_seconds() < PATIENCE
    health = reader.http.get("/health").json()
    assert 0 <= health["lag_seconds"] < PATIENCE
    assert datetime.fromisoformat(health["as_of"]) >= acknowledged
    assert "lag_seconds" not in writer.http.get("/health").json()
    assert "spanwise_store_lag_seconds{" in reader.http.get("/metrics").text
    assert "spanwise_store_lag_seconds{" not in writer.http.get("/metrics").text


def test_a_reader_that_is_started_first_waits_for_the_store(place: Place) -> None:
    reader = place.reader(is_ready=False)
    deadline = time.monotonic() + PATIENCE
    readiness = ""
    while "there is no store yet" not in readiness:
        assert time.monotonic() < deadline, readiness
        with suppress(httpx.TransportError):
            readiness = reader.http.get("/health?ready=true").text
        time.sleep(0.05)
    search = reader.search()
    assert (search.status_code, search.headers["Retry-After"]) == (503, "1")
    writer = place.writer()
    reader.wait_until_ready()
    assert reader.trace_ids() == []
    export(writer, FIRST).raise_for_status()
    reader.wait_until_found(FIRST)


def test_readers_survive_their_writer_and_follow_the_next_one(place: Place) -> None:
    writer = place.writer()
    reader = place.reader()
    export(writer, FIRST).raise_for_status()
    reader.wait_until_found(FIRST)
    writer.kill()
    time.sleep(1)
    assert reader.trace_ids() == [FIRST]
    reader.wait_until_ready()
    assert reader.http.get("/health").json()["lag_seconds"] < PATIENCE
    successor = place.writer("successor")
    export(successor, SECOND).raise_for_status()
    reader.wait_until_found(FIRST, SECOND)
    delete(successor, FIRST).raise_for_status()
    reader.wait_until_found(SECOND)


def test_writes_are_refused_and_the_writer_is_named(place: Place) -> None:
    place.writer()
    port = free_port()
    reader = place.reader("reader", "--otlp-grpc-port", str(port))
    refused = export(reader, FIRST)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert REFUSAL in refused.json()["message"]
    assert WRITER_URL in refused.json()["message"]
    with GrpcClient(port) as client:
        reply = client.call(b"")
    assert (reply.code, reply.status.details[0].type_url) == (UNAVAILABLE, "type.googleapis.com/google.rpc.RetryInfo")
    assert WRITER_URL in reply.text
    for response in (
        delete(reader, FIRST),
        reader.http.post("/agents/guide/runs", data={"message": "hello"}),
        reader.http.post("/sessions", json={}),
        reader.http.delete("/sessions/one"),
    ):
        assert response.status_code == 405, response.text
        assert response.headers["Allow"] == ""
        assert REFUSAL in response.json()["detail"]
        assert WRITER_URL in response.json()["detail"]
    assert reader.http.get("/sessions").status_code == 404
    assert reader.http.get("/agents").json() == []
    assert reader.http.get("/info").json()["capabilities"] == ["search"]


def test_a_tail_of_a_reader_sends_what_its_writer_commits(place: Place) -> None:
    writer = place.writer()
    reader = place.reader()
    with tail(reader, filter={"op": "EXISTS", "key": "trace_id"}) as client:
        export(writer, FIRST).raise_for_status()
        event = client.next()
        assert event is not None
        assert (event.name, event.data["trace_id"]) == ("trace", FIRST)


def test_a_reader_that_cannot_follow_says_how_old_its_answers_are(tmp_path: Path) -> None:
    writer = RunningService(tmp_path / "data")
    export(writer, FIRST).raise_for_status()
    reader = RunningService(tmp_path / "data", "--reader", "--max-lag-seconds", "1")
    try:
        writer.kill()
        (tmp_path / "data" / "traces" / "manifest").rename(tmp_path / "away")
        deadline = time.monotonic() + PATIENCE
        while (ready := reader.http.get("/health?ready=true")).status_code == 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "not ready: search: answers are" in ready.json()["detail"]
        assert reader.trace_ids() == [FIRST], "it answers, and says how old that is"
        assert reader.http.get("/health").json()["lag_seconds"] > 1
        assert 'spanwise_store_is_following_failing{db_id="default"} 1' in reader.http.get("/metrics").text
        (tmp_path / "away").rename(tmp_path / "data" / "traces" / "manifest")
        reader.wait_until_ready()
    finally:
        for service in (writer, reader):
            service.http.close()
            service.kill()


def test_a_reader_searches_beside_a_writer_that_removes_at_once_what_it_merged(place: Place) -> None:
    writer = place.writer("writer", "--linger-seconds", "0")
    reader = place.reader()
    trace_ids = [f"{number:032x}" for number in range(1, 61)]
    for number, trace_id in enumerate(trace_ids):
        export(writer, trace_id).raise_for_status()
        if number % 6 == 5:
            # Flushes the head, and merges small segments.
            delete(writer, trace_ids[number - 5]).raise_for_status()
        reader.search(filter={"op": "CONTAINS", "key": "input", "value": "hello"}).raise_for_status()
        reader.http.get("/traces").raise_for_status()
    reader.wait_until_found(*(each for number, each in enumerate(trace_ids) if number % 6 != 0))
