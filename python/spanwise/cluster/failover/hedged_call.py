"""Hedged requests to a shard and its follower, and failover when one does not respond."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from spanwise.cluster.shards.shard import ShardLostError
from spanwise.errors import PinLostError, SpanwiseError, StoreError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.cluster.failover.breaker import Breaker
    from spanwise.cluster.shards.shard import Call, Shard

Result = TypeVar("Result")

SUSPECT_SECONDS = 1.0
"""A shard that has not responded for this long is probed. Work may take longer, a probe does not."""
_POLL_SECONDS = 0.05
_POLL_OF_TWO_SECONDS = 0.002
_log = logging.getLogger(__name__)


class Pair(Protocol):
    """A shard that may fail, and its follower."""

    writer: Shard
    follower: Shard | None
    breaker: Breaker

    @property
    def hedge_after(self) -> float:
        """Returns the seconds after which a first response is unusually slow."""
        ...

    def hedged(self) -> None:
        """Counts a hedge to the follower."""
        ...

    def chose(self, search: int, shard: Shard, seconds: float) -> None:
        """Records the shard whose response to the first request of a search is used, and its response time."""
        ...

    def lost(self) -> ShardLostError:
        """Returns the error to raise while the shard receives no requests."""
        ...


class HedgedCall:
    """The first response to a hedged request of a search. Implements `Call`."""

    def __init__(
        self,
        pair: Pair,
        begin: Callable[[Shard], Call[bytes]],
        candidates: Sequence[Shard],
        search: int | None = None,
    ) -> None:
        """Sends the request to the first candidate.

        Args:
            pair: the shard, with its follower.
            begin: sends the request to a shard.
            candidates: the shards to try: one, or the shard and its follower.
            search: the number of the search if this is its first request; None if the search is bound to the candidate.
        """
        self._pair = pair
        self._begin = begin
        self._search = search
        self._left = list(candidates)
        self._calls: dict[Shard, Call[bytes]] = {}
        self._error: SpanwiseError | None = None
        self._answer: bytes | None = None
        self._began = time.monotonic()
        self._hedge_after: float | None = None
        self._suspect_at = self._began + SUSPECT_SECONDS
        if pair.breaker.is_open and pair.writer in self._left:
            self._lose(pair.writer, None)
        else:
            self._ask_next()

    def result(self, timeout: float | None = None, /) -> bytes:
        """See `Call.result`.

        Raises:
            PinLostError: the shard with the state of the search does not respond, and its follower may.
            ShardLostError: no candidate responds.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while self._calls:
            self._check()
            for shard, call in tuple(self._calls.items()):
                if shard in self._calls:
                    self._wait(shard, call, until)
            if self._calls and until is not None and time.monotonic() >= until:
                raise TimeoutError
        if self._answer is None:
            assert self._error is not None  # noqa: S101  # the error of the last candidate
            raise self._error
        return self._answer

    def _patience(self, until: float | None) -> float:
        """Returns the seconds to wait for one call before the others are checked."""
        now = time.monotonic()
        ends = [now + (_POLL_SECONDS if len(self._calls) == 1 else _POLL_OF_TWO_SECONDS)]
        if self._left:
            ends.append(self._began + self._hedge_seconds())
        if until is not None:
            ends.append(until)
        return max(0.0, min(ends) - now)

    def _wait(self, shard: Shard, call: Call[bytes], until: float | None) -> None:
        try:
            answer = call.result(self._patience(until))
        except TimeoutError:
            return
        except UnavailableError as error:
            if isinstance(error, ShardLostError) and shard is self._pair.writer:
                self._pair.breaker.failed()
            self._lose(shard, error)
        except SpanwiseError as error:
            if shard is not self._pair.writer and isinstance(error, StoreError):
                # The shard may be able to read data that its follower cannot, now or after it recovers.
                _log.warning("a follower cannot answer: %s", error)
                self._lose(shard, None)
                return
            # The other candidate would return the same error.
            self._error = error
            self._calls.clear()
        else:
            self._answer = answer
            self._calls.clear()
            if shard is self._pair.writer:
                self._pair.breaker.succeeded()
            if self._search is not None:
                self._pair.chose(self._search, shard, time.monotonic() - self._began)

    def _check(self) -> None:
        """Checks whether to send a hedge or to give up on the shard."""
        writer, breaker = self._pair.writer, self._pair.breaker
        if writer not in self._calls:
            return
        if breaker.is_open:
            self._lose(writer, None)
            return
        now = time.monotonic()
        if now >= self._suspect_at:
            self._suspect_at = now + SUSPECT_SECONDS
            breaker.suspect()
        if self._left and now >= self._began + self._hedge_seconds():
            self._pair.hedged()
            self._ask_next()

    def _hedge_seconds(self) -> float:
        if self._hedge_after is None:
            self._hedge_after = self._pair.hedge_after
        return self._hedge_after

    def _ask_next(self) -> None:
        shard = self._left.pop(0)
        try:
            self._calls[shard] = self._begin(shard)
        except UnavailableError as error:
            if isinstance(error, ShardLostError) and shard is self._pair.writer:
                self._pair.breaker.failed()
            self._lose(shard, error)

    def _lose(self, shard: Shard, error: SpanwiseError | None) -> None:
        """Gives up on a shard, and sends the request to the next candidate unless that was done.

        Args:
            shard: the shard.
            error: the reason; None if it has failed too often.
        """
        self._calls.pop(shard, None)
        if shard in self._left:
            self._left.remove(shard)
        error = error or self._pair.lost()
        if self._search is None and self._pair.follower is not None and isinstance(error, ShardLostError):
            # The search restarts at the shard that responds then.
            error = PinLostError("the shard that holds the state of the search stopped responding; retry")
        self._error = self._error or error
        if self._left and not self._calls:
            self._ask_next()


class WatchedCall(Generic[Result]):
    """A call that reports its outcome to a circuit breaker. Implements `Call`."""

    def __init__(self, pair: Pair, call: Call[Result]) -> None:
        """Wraps a call of a shard that has just started."""
        self._pair = pair
        self._call = call
        self._suspect_at = time.monotonic() + SUSPECT_SECONDS

    def result(self, timeout: float | None = None, /) -> Result:
        """See `Call.result`.

        Raises:
            ShardLostError: the shard has failed, or the breaker has opened.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            seconds = max(0.0, self._suspect_at - time.monotonic())
            try:
                result = self._call.result(
                    seconds if until is None else min(seconds, max(0.0, until - time.monotonic()))
                )
            except TimeoutError:
                self._check(until)
            except ShardLostError:
                self._pair.breaker.failed()
                raise
            else:
                self._pair.breaker.succeeded()
                return result

    def _check(self, until: float | None) -> None:
        """Checks whether the call is still worth waiting for."""
        now = time.monotonic()
        if until is not None and now >= until:
            raise TimeoutError
        if self._pair.breaker.is_open:
            raise self._pair.lost()
        if now >= self._suspect_at:
            self._suspect_at = now + SUSPECT_SECONDS
            self._pair.breaker.suspect()
