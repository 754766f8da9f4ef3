"""A failed shard gets no requests until it responds. Its follower serves all acknowledged data in the meantime."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, TraceStore
from spanwise.cluster.failover import hedged_call
from spanwise.cluster.failover.breaker import MAX_FAILURES, Breaker
from spanwise.cluster.failover.guarded import GuardedShard
from spanwise.cluster.shards.layout import Layout
from spanwise.cluster.shards.local import LocalShard
from spanwise.cluster.shards.shard import Ask, ShardLostError
from spanwise.cluster.store import ShardedStore
from spanwise.errors import CancelledError, PartialWriteError, PayloadTooLargeError, StoreDamagedError, UnavailableError
from spanwise.traces.search import queries
from support.in_process.stores import EVERYTHING, found_traces, ingest, request_of_traces
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from spanwise.cluster.shards.shard import Call, Outcome, Part, Run, Waiting

    Opened = tuple[ShardedStore, list["Failing"], list[GuardedShard]]
    Opening = Callable[..., Opened]

HEDGE_SECONDS = 0.05


class Failing(LocalShard):
    """A shard of this process that can be lost or hang, like one in another process."""

    is_lost = False
    hangs = False
    answers_probes = False

    def __init__(self, store: TraceStore, layout: int) -> None:
        super().__init__(store, layout)
        self.asked = 0
        self.ended: list[int] = []
        self._resumed = threading.Event()

    def _fail(self) -> None:
        if self.is_lost:
            raise ShardLostError("away")

    def resume(self) -> None:
        self.is_lost = self.hangs = False
        self._resumed.set()

    def begin_answer(self, ask: Ask, question: bytes, *, is_first: bool, run: Run) -> Call[bytes]:
        self._fail()
        return super().begin_answer(ask, question, is_first=is_first, run=run)

    def answer(self, ask: Ask, question: bytes, is_first: bool) -> bytes:  # noqa: FBT001  # the signature of the shard
        self.asked += 1
        if self.hangs:
            self._resumed.wait(20)
        self._fail()
        return super().answer(ask, question, is_first)

    def begin_ingest(self, part: Part, waiting: Waiting, run: Run) -> Call[Outcome]:
        self._fail()
        return super().begin_ingest(part, waiting, run)

    def ingest(self, part: Part) -> Outcome:
        if self.hangs:
            self._resumed.wait(20)
        return super().ingest(part)

    def end(self, searches: Sequence[int]) -> None:
        self.ended += searches
        super().end(searches)

    def probe(self) -> None:
        self._fail()
        if self.hangs and not self.answers_probes:
            raise ShardLostError("hangs")

    def stats(self) -> bytes:
        self._fail()
        return super().stats()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Opening]:
    """Returns a function that opens a store of two shards, with or without followers."""
    opened = []

    def opening(*, followed: bool) -> Opened:
        layout = Layout.of(2)
        writers, guards = [], []
        for placed in layout.shards:
            folder = str(tmp_path / placed.store)
            writers.append(Failing(TraceStore.open(folder), layout.number))
            # It polls only every minute, so it reads fresh data only because of a request.
            follower = TraceStore.follow(folder, b'{"follow_milliseconds": 60000}') if followed else None
            beside = follower and LocalShard(follower, layout.number, catches_up=True)
            guards.append(GuardedShard(placed.prefix, writers[-1], beside, HEDGE_SECONDS))
        store = ShardedStore(layout, guards, search_seconds=30, ingest_seconds=30)
        opened.append((store, writers))
        return store, writers, guards

    yield opening
    for store, writers in opened:
        for writer in writers:
            writer.resume()
        store.close()


def test_a_follower_answers_for_a_shard_that_is_lost(pair: Opening) -> None:
    store, writers, guards = pair(followed=True)
    for number in range(1, 21):
        ingest(store, number)
        # Each search sees all previously acknowledged data, from either shard.
        writers[0].is_lost = number % 2 == 0
        assert found_traces(store) == set(range(1, number + 1))
        writers[0].resume()
        wait_until(lambda: not guards[0].counters.is_broken)
    assert guards[0].counters.followed >= 10
    assert guards[1].counters.followed == 0
    writers[0].is_lost = True
    assert store.query(queries.trace(EVERYTHING, f"{7:032x}")).total == 1
    assert len(b"".join(store.export(EVERYTHING, "ndjson")).splitlines()) == 20
    assert b'"traces":20' in store.stats()
    assert store.stats_of_shards()["0"] is None
    # Writes wait for the shard itself.
    store._ingest_seconds = 0.3  # noqa: SLF001  # the shard does not come back
    with pytest.raises(PartialWriteError):
        store.ingest(request_of_traces({number: {} for number in range(21, 60)}), "application/json")


def test_a_question_that_takes_long_is_asked_of_the_follower_too(pair: Opening) -> None:
    store, writers, guards = pair(followed=True)
    ingest(store, *range(1, 21))
    assert found_traces(store) == set(range(1, 21))
    writers[1].hangs = True
    began = time.monotonic()
    assert found_traces(store) == set(range(1, 21))
    assert HEDGE_SECONDS <= time.monotonic() - began < 5
    counters = guards[1].counters
    assert (counters.hedges, counters.followed, counters.is_broken) == (1, 1, False)
    # The slower shard is told soon, so that it stops its work.
    wait_until(lambda: len(writers[1].ended) == 2)


def test_a_shard_that_is_slow_is_not_lost(pair: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedged_call, "SUSPECT_SECONDS", 0.1)
    store, writers, guards = pair(followed=False)
    ingest(store, *range(1, 21))
    slow = writers[0]
    slow.hangs = True
    slow.answers_probes = True
    threading.Timer(0.5, slow.resume).start()
    assert found_traces(store) == set(range(1, 21))
    assert guards[0].counters.breaks == 0


def test_a_shard_that_hangs_is_an_error_before_the_deadline(pair: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedged_call, "SUSPECT_SECONDS", 0.1)
    store, writers, guards = pair(followed=False)
    ingest(store, *range(1, 21))
    writers[0].hangs = True
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="shard `0` does not answer"):
        store.query(queries.runs(EVERYTHING, 1, 20))
    assert time.monotonic() - began < 5
    asked = writers[0].asked
    for _ in range(5):
        with pytest.raises(UnavailableError, match="shard `0` does not answer"):
            store.query(queries.runs(EVERYTHING, 1, 20))
    # The shard gets no more requests.
    assert writers[0].asked == asked
    assert guards[0].counters.breaks == 1
    writers[0].resume()
    wait_until(lambda: not guards[0].counters.is_broken)
    assert found_traces(store) == set(range(1, 21))


def test_a_shard_that_fails_several_times_is_left_alone(pair: Opening) -> None:
    store, writers, guards = pair(followed=False)
    ingest(store, *range(1, 21))
    writers[1].is_lost = True
    for failed in range(1, MAX_FAILURES + 1):
        assert not guards[1].counters.is_broken, failed
        with pytest.raises(UnavailableError):
            store.query(queries.runs(EVERYTHING, 1, 20))
    assert guards[1].counters.is_broken
    # A write waits for the shard, and is stored once it is back.
    threading.Timer(0.2, writers[1].resume).start()
    ingest(store, *range(21, 41))
    assert found_traces(store) == set(range(1, 41))


def test_what_is_wrong_with_a_search_is_no_failure_of_the_shard(pair: Opening) -> None:
    store, writers, guards = pair(followed=True)

    def wrong(*_: object) -> bytes:
        raise PayloadTooLargeError("wrong")

    writers[0].answer = wrong  # type: ignore[method-assign, assignment]
    for _ in range(2 * MAX_FAILURES):
        with pytest.raises(PayloadTooLargeError):
            store.query(queries.runs(EVERYTHING, 1, 20))
    assert guards[0].counters.followed == guards[0].counters.breaks == 0


def test_what_a_follower_cannot_read_its_shard_is_waited_for(pair: Opening) -> None:
    store, writers, guards = pair(followed=True)
    ingest(store, *range(1, 21))
    follower = guards[0].follower
    assert follower is not None

    def unreadable(*_: object) -> bytes:
        raise StoreDamagedError("a file is not there")

    follower.answer = unreadable  # type: ignore[attr-defined]
    writers[0].hangs = writers[0].answers_probes = True
    threading.Timer(3 * HEDGE_SECONDS, writers[0].resume).start()
    assert found_traces(store) == set(range(1, 21))
    assert guards[0].counters.hedges == 1


def test_what_a_follower_cannot_read_while_its_shard_is_lost_may_be_asked_again(pair: Opening) -> None:
    store, writers, guards = pair(followed=True)
    ingest(store, *range(1, 21))
    follower = guards[0].follower
    assert follower is not None
    answer = follower.answer  # type: ignore[attr-defined]

    def unreadable(*_: object) -> bytes:
        raise StoreDamagedError("a file is not there")

    follower.answer = unreadable  # type: ignore[attr-defined]
    writers[0].is_lost = True
    with pytest.raises(UnavailableError):
        found_traces(store)
    follower.answer = answer  # type: ignore[attr-defined]
    assert found_traces(store) == set(range(1, 21))


def test_a_search_goes_on_at_the_follower_if_its_shard_is_lost_meanwhile(pair: Opening) -> None:
    store, writers, _ = pair(followed=True)
    ingest(store, *range(1, 21))
    shard, answer = writers[0], writers[0].answer

    def once(ask: Ask, question: bytes, is_first: bool) -> bytes:  # noqa: FBT001  # the signature of the shard
        shard.is_lost = True
        shard.answer = answer  # type: ignore[method-assign]
        return LocalShard.answer(shard, ask, question, is_first)

    shard.answer = once  # type: ignore[method-assign]
    # The search fetches keys first, then documents. The second request finds the shard gone.
    assert found_traces(store) == set(range(1, 21))
    assert shard.is_lost


def test_a_breaker_probes_until_one_succeeds() -> None:
    probes = []

    def probe() -> None:
        probes.append(time.monotonic())
        if len(probes) < 3:
            raise ShardLostError("away")

    breaker = Breaker(probe)
    for _ in range(MAX_FAILURES - 1):
        breaker.failed()
    breaker.succeeded()
    for _ in range(MAX_FAILURES - 1):
        breaker.failed()
    assert not breaker.is_open
    breaker.failed()
    assert breaker.openings == 1
    wait_until(lambda: not breaker.is_open)
    assert (len(probes), breaker.openings) == (3, 1)
    # A shard that answers its probe gets requests, even if a call is slow.
    breaker.suspect()
    wait_until(lambda: len(probes) == 4)
    assert breaker.openings == 1
    breaker.close()
    breaker.suspect()
    assert len(probes) == 4


def test_a_search_that_has_ended_is_not_begun(tmp_path: Path) -> None:
    shard = LocalShard(TraceStore.open(str(tmp_path / "shard")), 1)
    ask = Ask(1, 7, Filter.compile(b"{}").to_query(), 30.0)
    shard.end([7])
    with ThreadPoolExecutor(1) as threads, pytest.raises(CancelledError):
        shard.begin_answer(ask, b"", is_first=True, run=threads.submit).result(5)
    shard.close()
