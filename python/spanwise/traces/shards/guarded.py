"""A shard that may fail, with what its callers see of that: an error at once, or the answers of its follower."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from spanwise.errors import PinLostError
from spanwise.traces.shards.answers import Answer, WatchedCall
from spanwise.traces.shards.breaker import Breaker
from spanwise.traces.shards.shard import Shard, ShardLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.traces.port import Download
    from spanwise.traces.shards.shard import Ask, Call, Event, Outcome, Part, Run, Waiting

Result = TypeVar("Result")

HEDGE_SECONDS = 0.05
"""After how long a question is asked of the follower, too, at the earliest."""
_REMEMBERED = 128
"""Answers whose times say what is usual."""


class Counters(Struct, frozen=True):
    """What has happened with a shard, for metrics.

    Attributes:
        is_broken: whether it is not asked, because it has failed.
        breaks: how often that began.
        hedges: questions that the follower was asked because the shard took long.
        followed: searches that the follower has answered.
    """

    is_broken: bool
    breaks: int
    hedges: int
    followed: int


class _Asked(Struct):
    """Which of the two knows a search, and whose answers are used."""

    shards: list[Shard]
    chosen: Shard | None = None


class GuardedShard:
    """A shard that others have, and perhaps a follower of it. Implements `Shard`.

    All questions of a search go to whichever of the two has answered the first one. A follower reads what was
    acknowledged before it answers that, so its answers are those of the shard.
    """

    def __init__(
        self, name: str, writer: Shard, follower: Shard | None = None, hedge_seconds: float = HEDGE_SECONDS
    ) -> None:
        """Takes open shards, which `close` closes.

        Args:
            name: its prefix, for messages.
            writer: the shard.
            follower: what is asked if the shard does not answer, or takes long; None if there is nothing.
            hedge_seconds: how long is not long, whatever is usual.
        """
        self._name = name
        self.writer = writer
        self.follower = follower
        self.breaker = Breaker(writer.probe)
        self._hedge_seconds = hedge_seconds
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self._searches: dict[int, _Asked] = {}
        self._lock = threading.Lock()
        self._hedges = self._followed = 0

    @property
    def counters(self) -> Counters:
        """Returns what has happened so far."""
        return Counters(self.breaker.is_open, self.breaker.openings, self._hedges, self._followed)

    def begin_answer(self, ask: Ask, question: bytes, *, is_first: bool, run: Run) -> Call[bytes]:
        """See `Shard.begin_answer`."""
        with self._lock:
            asked = self._searches.setdefault(ask.search, _Asked([])) if is_first else self._searches.get(ask.search)
        if asked is None or (asked.chosen is None and not is_first):
            raise PinLostError("a shard does not keep the state of the search any more")

        def begin(shard: Shard) -> Call[bytes]:
            if is_first:
                asked.shards.append(shard)
            return shard.begin_answer(ask, question, is_first=is_first, run=run)

        if asked.chosen is not None:
            return Answer(self, begin, [asked.chosen])
        candidates = [shard for shard in (self.writer, self.follower) if shard is not None]
        return Answer(self, begin, candidates, ask.search)

    def chose(self, search: int, shard: Shard, seconds: float) -> None:
        """Records whose answer to the first question of a search is used; the other one forgets the search.

        Args:
            search: the search.
            shard: whose answer it is.
            seconds: how long it took.
        """
        self._seconds.append(seconds)
        with self._lock:
            self._followed += shard is self.follower
            if (asked := self._searches.get(search)) is None:
                return
            asked.chosen = shard
            others = [own for own in asked.shards if own is not shard]
            asked.shards = [shard]
        for other in others:
            other.end([search])

    def hedged(self) -> None:
        """Counts a question that the follower is asked, too."""
        with self._lock:
            self._hedges += 1

    @property
    def hedge_after(self) -> float:
        """Returns after how many seconds a first answer takes unusually long: as 95 of 100 do not."""
        if not self._seconds:
            return self._hedge_seconds
        usual = sorted(self._seconds)
        return max(self._hedge_seconds, usual[len(usual) * 95 // 100])

    def end(self, searches: Sequence[int]) -> None:
        """See `Shard.end`."""
        told: dict[Shard, list[int]] = {}
        with self._lock:
            for search in searches:
                asked = self._searches.pop(search, None)
                for shard in asked.shards if asked else ():
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
        """See `Shard.poll_tails`. A tail is one of the shard itself, and ends with it."""
        return self._watched(lambda: self.writer.poll_tails(wanted))

    def close_tails(self, tails: Sequence[int]) -> None:
        """See `Shard.close_tails`."""
        self.writer.close_tails(tails)

    @property
    def as_of(self) -> int | None:
        """See `Shard.as_of`: all that was acknowledged is known."""
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
        """Returns what to raise while the shard is not asked."""
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
