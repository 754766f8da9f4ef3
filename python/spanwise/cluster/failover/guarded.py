"""A shard that may fail. Its callers get an error at once, or the responses of its follower."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from spanwise.cluster.failover.breaker import Breaker
from spanwise.cluster.failover.hedged_call import HedgedCall, WatchedCall
from spanwise.cluster.shards.shard import Shard, ShardLostError
from spanwise.errors import PinLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.cluster.shards.shard import Ask, Call, Event, Outcome, Part, Run, Waiting
    from spanwise.store_protocol import Download

Result = TypeVar("Result")

HEDGE_SECONDS = 0.05
"""The minimum time before a request is hedged to the follower."""
_REMEMBERED = 128
"""The number of response times that define the usual time."""


class Counters(Struct, frozen=True):
    """Counters of a shard, for metrics.

    Attributes:
        is_broken: True while the shard receives no requests because it has failed.
        breaks: the number of times that state has begun.
        hedges: requests that were also sent to the follower because the shard was slow.
        followed: searches that the follower has served.
    """

    is_broken: bool
    breaks: int
    hedges: int
    followed: int


class _SearchState(Struct):
    """Which of the two has the state of a search, and whose responses are used."""

    shards: list[Shard]
    chosen: Shard | None = None


class GuardedShard:
    """A shared shard, with an optional follower. Implements `Shard`.

    All requests of a search go to the shard that responded to the first one. A follower reads all acknowledged data
    before its first response, so its responses equal the shard's.
    """

    def __init__(
        self, name: str, writer: Shard, follower: Shard | None = None, hedge_seconds: float = HEDGE_SECONDS
    ) -> None:
        """Takes open shards, which `close` closes.

        Args:
            name: its prefix, for messages.
            writer: the shard.
            follower: receives requests if the shard is slow or does not respond; None without a follower.
            hedge_seconds: the minimum time before a hedge.
        """
        self._name = name
        self.writer = writer
        self.follower = follower
        self.breaker = Breaker(writer.probe)
        self._hedge_seconds = hedge_seconds
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self._searches: dict[int, _SearchState] = {}
        self._lock = threading.Lock()
        self._hedges = self._followed = 0

    @property
    def counters(self) -> Counters:
        """Returns the counters so far."""
        return Counters(self.breaker.is_open, self.breaker.openings, self._hedges, self._followed)

    def begin_answer(self, ask: Ask, question: bytes, *, is_first: bool, run: Run) -> Call[bytes]:
        """See `Shard.begin_answer`."""
        with self._lock:
            state = (
                self._searches.setdefault(ask.search, _SearchState([])) if is_first else self._searches.get(ask.search)
            )
        if state is None or (state.chosen is None and not is_first):
            raise PinLostError("a shard lost the state of the search; retry")

        def begin(shard: Shard) -> Call[bytes]:
            if is_first:
                state.shards.append(shard)
            return shard.begin_answer(ask, question, is_first=is_first, run=run)

        if state.chosen is not None:
            return HedgedCall(self, begin, [state.chosen])
        candidates = [shard for shard in (self.writer, self.follower) if shard is not None]
        return HedgedCall(self, begin, candidates, ask.search)

    def chose(self, search: int, shard: Shard, seconds: float) -> None:
        """Records whose response to the first request of a search is used. The other shard forgets the search.

        Args:
            search: the search.
            shard: the shard that responded.
            seconds: its response time.
        """
        self._seconds.append(seconds)
        with self._lock:
            self._followed += shard is self.follower
            if (state := self._searches.get(search)) is None:
                return
            state.chosen = shard
            others = [own for own in state.shards if own is not shard]
            state.shards = [shard]
        for other in others:
            other.end([search])

    def hedged(self) -> None:
        """Counts a hedge to the follower."""
        with self._lock:
            self._hedges += 1

    @property
    def hedge_after(self) -> float:
        """Returns the seconds after which a first response is unusually slow: the 95th percentile."""
        if not self._seconds:
            return self._hedge_seconds
        usual = sorted(self._seconds)
        return max(self._hedge_seconds, usual[len(usual) * 95 // 100])

    def end(self, searches: Sequence[int]) -> None:
        """See `Shard.end`."""
        told: dict[Shard, list[int]] = {}
        with self._lock:
            for search in searches:
                state = self._searches.pop(search, None)
                for shard in state.shards if state else ():
                    told.setdefault(shard, []).append(search)
        for shard, numbers in told.items():
            shard.end(numbers)

    def begin_ingest(self, part: Part, waiting: Waiting, run: Run) -> Call[Outcome]:
        """See `Shard.begin_ingest`."""
        self._expect_whole()
        try:
            call = self.writer.begin_ingest(part, waiting, run)
        except ShardLostError:
            self.breaker.failed()
            raise
        return WatchedCall(self, call)

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        """See `Shard.delete`."""
        return self._watched(lambda: self.writer.delete(ask, dry_run=dry_run))

    def export(self, ask: Ask, form: str) -> Download:
        """See `Shard.export`."""
        try:
            return self._watched(lambda: self.writer.export(ask, form))
        except ShardLostError:
            if self.follower is None:
                raise
            return self.follower.export(ask, form)

    def open_tail(self, ask: Ask) -> None:
        """See `Shard.open_tail`."""
        self._watched(lambda: self.writer.open_tail(ask))

    def poll_tails(self, wanted: list[tuple[int, int, int | None]]) -> tuple[list[list[Event]], bool, list[str]]:
        """See `Shard.poll_tails`. A tail belongs to the shard itself, and ends with it."""
        return self._watched(lambda: self.writer.poll_tails(wanted))

    def close_tails(self, tails: Sequence[int]) -> None:
        """See `Shard.close_tails`."""
        self.writer.close_tails(tails)

    @property
    def as_of(self) -> int | None:
        """See `Shard.as_of`. Results include all acknowledged data."""
        return None

    def probe(self) -> None:
        """See `Shard.probe`."""
        self.writer.probe()

    def stats(self) -> bytes:
        """See `Shard.stats`."""
        return self._watched(self.writer.stats)

    def flush(self) -> None:
        """See `Shard.flush`."""
        self._watched(self.writer.flush)

    def compact(self, *, purge: bool) -> None:
        """See `Shard.compact`."""
        self._watched(lambda: self.writer.compact(purge=purge))

    def close(self) -> None:
        """See `Shard.close`."""
        self.breaker.close()
        try:
            if self.follower is not None:
                self.follower.close()
        finally:
            self.writer.close()

    def lost(self) -> ShardLostError:
        """Returns the error to raise while the shard receives no requests."""
        return ShardLostError(f"shard `{self._name}` does not answer")

    def _expect_whole(self) -> None:
        if self.breaker.is_open:
            raise self.lost()

    def _watched(self, work: Callable[[], Result]) -> Result:
        self._expect_whole()
        try:
            result = work()
        except ShardLostError:
            self.breaker.failed()
            raise
        self.breaker.succeeded()
        return result
