"""A sharded store gives the same results as a single store, and reports a shard that does not respond."""

from __future__ import annotations

import io
import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spanwise import Filter, TraceStore
from spanwise._engine import CancellationToken, SpanFilter, set_page_memory_limit
from spanwise.cluster.shards.layout import Layout
from spanwise.cluster.shards.local import LocalShard
from spanwise.cluster.shards.shard import Ask, ShardFullError, Waiting
from spanwise.cluster.store import ShardedStore
from spanwise.errors import (
    CancelledError,
    PartialWriteError,
    PayloadTooLargeError,
    PinLostError,
    StaleLayoutError,
    UnavailableError,
)
from spanwise.traces.search import queries
from support.clients.otlp import captures, export_request
from support.in_process.stores import ingest, open_sharded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from spanwise.cluster.shards.shard import Call, Outcome, Part, Run

EVERYTHING = Filter.compile(b"{}")
FILTERS = [
    EVERYTHING,
    Filter.compile(b'{"op": "EQ", "key": "status", "value": "ERROR"}'),
    Filter.compile(b'{"op": "CONTAINS", "key": "input", "value": "weather"}'),
    Filter.compile(b'{"op": "SPAN", "where": {"op": "EQ", "key": "type", "value": "LLM"}}'),
    Filter.compile(b'{"op": "EXISTS", "key": "session_id"}').restrict("user_id", "ann"),
]
COUNTS = [1, 2, 4, 7]


@pytest.fixture(scope="module", params=COUNTS)
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShardedStore]:
    store = open_sharded(tmp_path_factory.mktemp("many"), request.param)
    for number, capture in enumerate(captures()):
        store.ingest(capture.body, capture.content_type, capture.content_encoding)
        if number == len(captures()) // 2:
            store.flush()
    yield store
    store.close()


def same(text: bytes | None) -> bytes | None:
    """Returns a body without the times of receipt of its traces."""
    return text and re.sub(rb'"created_at":"[^"]*"', b'"created_at":""', text)


@pytest.mark.parametrize("chosen", range(len(FILTERS)))
def test_pages_are_those_of_one_store(one: TraceStore, many: ShardedStore, chosen: int) -> None:
    compiled = FILTERS[chosen]
    for page, limit, detail in [(1, 20, "preview"), (2, 7, "full"), (5, 3, "summary"), (900, 20, "preview")]:
        for sort in [("start_time", False), ("duration_ms", True), ("cost", False), ("total_tokens", False)]:
            expected, found = (
                store.query(queries.runs(compiled, page, limit, detail=detail, sort=sort)) for store in (one, many)
            )
            assert (same(found.data), found.total) == (same(expected.data), expected.total)
        for newest in (False, True):
            shown = [
                store.query(
                    queries.runs(compiled, page, limit, detail=detail, ends_when_full=newest, with_matches=True)
                )
                for store in (one, many)
            ]
            assert len({(same(own.data), own.total, own.is_exact) for own in shown}) == 1
        expected, found = (store.query(queries.sessions(compiled, page, limit)) for store in (one, many))
        assert (found.data, found.total) == (expected.data, expected.total)


def test_a_damaged_document_is_marked_and_the_others_are_whole(tmp_path: Path) -> None:
    store = open_sharded(tmp_path, 2)
    ingest(store, *range(1, 10))
    store.flush()
    documents = min(tmp_path.rglob("spans.otlp.zst"))
    content = bytearray(documents.read_bytes())
    content[len(content) // 2] ^= 1
    documents.write_bytes(content)
    page = store.query(queries.runs(EVERYTHING, 1, 20))
    assert page.total == 9
    assert len(page.damage) == 1
    items = {item["trace_id"]: item for item in json.loads(page.data)}
    assert len(items) == 9
    (damaged,) = (trace_id for trace_id, item in items.items() if "damaged" in item)
    for trace_id, item in items.items():
        query = queries.trace(EVERYTHING, trace_id, is_damaged=trace_id == damaged)
        assert json.loads(store.query(query).data) == item
    store.close()


@pytest.mark.parametrize("source", [b"null", b'{"op": "EQ", "key": "type", "value": "TOOL"}'])
def test_pages_of_spans_are_those_of_one_store(one: TraceStore, many: ShardedStore, source: bytes) -> None:
    spans = SpanFilter.compile(source)
    for page, limit in [(1, 20), (3, 9), (40, 5), (10**9, 100)]:
        for newest in (True, False):
            shown = [
                store.query(
                    queries.spans(EVERYTHING, spans, page, limit, ends_when_full=newest, with_matches=not newest)
                )
                for store in (one, many)
            ]
            assert len({(own.data, own.total, own.is_exact) for own in shown}) == 1


def test_lookups_are_those_of_one_store(one: TraceStore, many: ShardedStore) -> None:
    items = json.loads(one.query(queries.runs(EVERYTHING, 1, 100)).data)
    foreign = EVERYTHING.restrict("user_id", "nobody")
    for item in items:
        trace_id, span = item["trace_id"], item["tree"][0]["id"]
        for detail in ("full", "skeleton"):
            query = queries.trace(EVERYTHING, trace_id, detail)
            assert same(many.query(query).data) == same(one.query(query).data)
        assert many.query(queries.trace(foreign, trace_id)).total == 0
        for query in (
            queries.span(EVERYTHING, trace_id, span, 9),
            queries.value(EVERYTHING, trace_id, span, ("/name", 0, 5)),
            queries.trace(EVERYTHING, trace_id, is_damaged=True),
        ):
            assert same(many.query(query).data) == same(one.query(query).data)
    assert many.query(queries.trace(EVERYTHING, "f" * 32)).data == b"null"
    assert many.query(queries.trace(EVERYTHING, "no id")).total == 0


def test_files_have_the_traces_of_all_shards(one: TraceStore, many: ShardedStore) -> None:
    def ids(table: pa.Table) -> list[tuple[Any, ...]]:
        return sorted(zip(*(table[key].to_pylist() for key in ("trace_id", "span_id", "name")), strict=True))

    def exported(store: TraceStore | ShardedStore, form: str) -> bytes:
        return b"".join(store.export(FILTERS[1], form))

    lines = [sorted(same(line) or b"" for line in exported(store, "ndjson").splitlines()) for store in (one, many)]
    assert lines[0] == lines[1]
    assert len(exported(many, "otlp")) == len(exported(one, "otlp"))
    arrow = [ids(pa.ipc.open_stream(exported(store, "arrow")).read_all()) for store in (one, many)]
    assert arrow[0] == arrow[1]
    parquet = [ids(pq.read_table(io.BytesIO(exported(store, "parquet")))) for store in (one, many)]
    assert parquet == arrow


def test_counts_of_shards_add_up(one: TraceStore, many: ShardedStore) -> None:
    expected, found = json.loads(one.stats()), json.loads(many.stats())
    assert found.keys() == expected.keys()
    assert (found["traces"], found["is_acknowledging"]) == (expected["traces"], True)


def test_reports_are_those_of_one_store(tmp_path: Path) -> None:
    one, many = TraceStore.open(str(tmp_path / "one")), open_sharded(tmp_path, 4)
    spans = [json.loads(export_request(f"{number:032x}", "a" * 16))["resourceSpans"][0] for number in range(1, 30)]
    spans[3]["scopeSpans"][0]["spans"][0]["traceId"] = "0" * 32
    spans[9]["scopeSpans"][0]["spans"][0]["spanId"] = "zz"
    body = json.dumps({"resourceSpans": spans}).encode()
    expected, found = (store.ingest(body, "application/json") for store in (one, many))
    assert (found.accepted_spans, found.rejected_spans, found.reason) == (27, 2, expected.reason)
    assert (found.response, found.content_type) == (expected.response, expected.content_type)
    for store in (one, many):
        with pytest.raises(ValueError, match="JSON"):
            store.ingest(b"{", "application/json")


def test_what_is_deleted_is_gone_from_all_shards(tmp_path: Path) -> None:
    store = open_sharded(tmp_path, 4)
    for number in range(1, 40):
        store.ingest(export_request(f"{number:032x}", "a" * 16), "application/json")
    assert store.delete(EVERYTHING, dry_run=True) == 39
    assert store.delete(EVERYTHING) == 39
    assert store.query(queries.runs(EVERYTHING, 1, 20)).total == 0
    store.compact(purge=True)


class Unwilling(LocalShard):
    """A shard that fails on request."""

    error: Exception | None = None

    def ingest(self, part: Part) -> Outcome:
        if self.error is not None:
            raise self.error
        return super().ingest(part)

    def answer(self, ask: Ask, question: bytes, is_first: bool) -> bytes:  # noqa: FBT001  # the signature of the shard
        if self.error is not None:
            raise self.error
        return super().answer(ask, question, is_first)

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        if self.error is not None:
            raise self.error
        return super().delete(ask, dry_run=dry_run)


def with_unwilling(folder: Path, count: int = 4) -> tuple[ShardedStore, list[Unwilling]]:
    layout = Layout.of(count)
    shards = [Unwilling(TraceStore.open(str(folder / shard.store)), layout.number) for shard in layout.shards]
    return ShardedStore(layout, shards, search_seconds=5, ingest_seconds=0.3), shards


def many_traces(count: int) -> bytes:
    spans = [json.loads(export_request(f"{number:032x}", "a" * 16))["resourceSpans"][0] for number in range(1, count)]
    return json.dumps({"resourceSpans": spans}).encode()


def test_a_missing_shard_is_an_error_and_never_a_smaller_answer(tmp_path: Path) -> None:
    store, shards = with_unwilling(tmp_path)
    store.ingest(many_traces(40), "application/json")
    shards[2].error = UnavailableError("away")
    for search in (
        lambda: store.query(queries.runs(EVERYTHING, 1, 20)),
        lambda: store.query(queries.sessions(EVERYTHING, 1, 20)),
        lambda: store.query(queries.spans(EVERYTHING, SpanFilter.compile(b"null"), 1, 20)),
        lambda: store.delete(EVERYTHING, dry_run=True),
    ):
        with pytest.raises(UnavailableError, match="away"):
            search()
    with pytest.raises(PartialWriteError, match="in part; send it again"):
        store.ingest(many_traces(40), "application/json")
    with pytest.raises(PartialWriteError, match="in part; send it again"):
        store.delete(EVERYTHING)
    shards[2].error = None
    assert store.ingest(many_traces(40), "application/json").accepted_spans == 39
    assert store.delete(EVERYTHING) == 39
    assert store.query(queries.runs(EVERYTHING, 1, 20)).total == 0


def test_a_write_that_no_shard_takes_stored_nothing(tmp_path: Path) -> None:
    store, shards = with_unwilling(tmp_path)
    for shard in shards:
        shard.error = UnavailableError("full")
    with pytest.raises(UnavailableError, match="full") as raised:
        store.ingest(many_traces(40), "application/json")
    assert not isinstance(raised.value, PartialWriteError)


def test_a_part_is_sent_again_to_a_shard_that_comes_back(tmp_path: Path) -> None:
    store, shards = with_unwilling(tmp_path)
    shards[0].error = UnavailableError("restarting")
    threading.Timer(0.15, lambda: setattr(shards[0], "error", None)).start()
    assert store.ingest(many_traces(40), "application/json").accepted_spans == 39


def test_a_write_to_a_shard_that_is_full_is_not_tried_again(tmp_path: Path) -> None:
    class Full(LocalShard):
        asked = 0

        def begin_ingest(self, part: Part, waiting: Waiting, run: Run) -> Call[Outcome]:  # noqa: ARG002
            Full.asked += 1
            raise ShardFullError("16 bytes wait")

    layout = Layout.of(2)
    kinds = (LocalShard, Full)
    shards = [kind(TraceStore.open(str(tmp_path / str(kind))), layout.number) for kind in kinds]
    store = ShardedStore(layout, shards, ingest_seconds=60)
    with pytest.raises(PartialWriteError, match="in part; send it again"):
        store.ingest(many_traces(40), "application/json")
    assert Full.asked == 1
    store.close()


def test_a_write_waits_for_a_shard_no_longer_than_its_deadline(tmp_path: Path) -> None:
    class Hanging(LocalShard):
        may_end = threading.Event()

        def ingest(self, part: Part) -> Outcome:
            self.may_end.wait(20)
            return super().ingest(part)

    layout = Layout.of(1)
    store = ShardedStore(layout, [Hanging(TraceStore.open(str(tmp_path / "a")), 1)], ingest_seconds=0.2)
    with pytest.raises(UnavailableError, match="did not store its part of the request in time"):
        store.ingest(many_traces(4), "application/json")
    Hanging.may_end.set()
    store.close()


def test_a_search_begins_again_when_a_shard_has_lost_its_state(tmp_path: Path) -> None:
    class Forgetful(LocalShard):
        left = 2

        def answer(self, ask: Ask, question: bytes, is_first: bool) -> bytes:  # noqa: FBT001  # the signature of the shard
            if not is_first and Forgetful.left > 0:
                Forgetful.left -= 1
                raise PinLostError("restarted")
            return super().answer(ask, question, is_first)

    layout = Layout.of(1)
    store = ShardedStore(layout, [Forgetful(TraceStore.open(str(tmp_path / "a")), layout.number)])
    store.ingest(many_traces(9), "application/json")
    # A second page takes two requests.
    assert store.query(queries.runs(EVERYTHING, 2, 4)).total == 8
    assert Forgetful.left == 0
    Forgetful.left = 9
    with pytest.raises(PinLostError):
        store.query(queries.runs(EVERYTHING, 2, 4))


def test_a_shard_of_another_layout_answers_nothing(tmp_path: Path) -> None:
    layout = Layout.of(1)
    store = ShardedStore(layout, [LocalShard(TraceStore.open(str(tmp_path / "a")), layout.number + 1)])
    with pytest.raises(StaleLayoutError):
        store.query(queries.runs(EVERYTHING, 1, 20))
    with pytest.raises(StaleLayoutError):
        store.delete(EVERYTHING)


class Slow(LocalShard):
    """A shard that responds only after its end is requested."""

    def __init__(self, store: TraceStore, layout: int) -> None:
        super().__init__(store, layout)
        self.ended = threading.Event()

    def answer(self, ask: Ask, question: bytes, is_first: bool) -> bytes:  # noqa: FBT001  # the signature of the shard
        self.ended.wait(5)
        return super().answer(ask, question, is_first)

    def end(self, searches: Sequence[int]) -> None:
        self.ended.set()
        super().end(searches)


def test_a_search_that_is_cancelled_or_late_ends_on_every_shard(tmp_path: Path) -> None:
    layout, cancel = Layout.of(1), CancellationToken()
    slow = Slow(TraceStore.open(str(tmp_path / "a")), layout.number)
    store = ShardedStore(layout, [slow], search_seconds=0.3)
    with pytest.raises(UnavailableError, match=r"has not answered for 0\.3 s"):
        store.query(queries.runs(EVERYTHING, 1, 20))
    assert slow.ended.wait(5)
    slow.ended.clear()
    threading.Timer(0.05, cancel.cancel).start()
    with pytest.raises(CancelledError):
        store.query(queries.runs(EVERYTHING, 1, 20), cancel)
    assert slow.ended.wait(5)


def test_a_page_that_is_too_large_names_a_limit_as_one_store_does(tmp_path: Path) -> None:
    one, many = TraceStore.open(str(tmp_path / "one")), open_sharded(tmp_path, 2)
    for number in range(1, 9):
        body = export_request(f"{number:032x}", "a" * 16, **{"input.value": "x" * 1000 * number})
        one.ingest(body, "application/json")
        many.ingest(body, "application/json")
    set_page_memory_limit(1 << 12)
    try:
        texts = []
        for store in (one, many):
            with pytest.raises(PayloadTooLargeError) as raised:
                store.query(queries.runs(EVERYTHING, 1, 8))
            texts.append(str(raised.value))
    finally:
        set_page_memory_limit(256 << 20)
    assert texts[0] == texts[1]
