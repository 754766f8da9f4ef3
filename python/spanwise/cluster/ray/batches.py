"""Batches the writes to a shard, because a call costs about a millisecond of processor time at any size."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from spanwise.cluster.shards.shard import Outcome, ShardFullError
from spanwise.errors import SpanwiseError, StoreClosedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.cluster.shards.shard import Part, Waiting

MAX_BATCH_BYTES = 4 << 20
"""The size limit of the parts in one call, unless a single part is larger."""
ENOUGH_BYTES = 2 << 20
GATHER_SECONDS = 0.05
"""A batch of the minimum size does not wait for more parts. Others wait at most this long."""
_POLL_SECONDS = 0.005
MAX_WAITING_BYTES = 16 << 20
"""The size limit of the parts that wait for a call, unless a single part is larger. Further parts are rejected."""

Outcomes: TypeAlias = list[Outcome | SpanwiseError]


class _Sending(NamedTuple):
    part: Part
    deadline: float
    call: Future[Outcome]


class Batches:
    """Sends the parts of requests to a shard, one batch at a time.

    A batch has all parts that arrived during the previous one. A part waits briefly if others are about to follow. A
    single part does not wait. Parts whose callers have given up are not sent.
    """

    def __init__(self, send: Callable[[Sequence[Part], float], Outcomes], name: str) -> None:
        """Starts a thread.

        Args:
            send: stores parts, and returns their outcomes. The second argument is the time in seconds that a caller
                still waits.
            name: the name of the thread.
        """
        self._send = send
        self._waiting: deque[_Sending] = deque()
        self._bytes = 0
        self._may_grow: Callable[[], bool] = bool
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def add(self, part: Part, waiting: Waiting) -> Future[Outcome]:
        """Returns the call that stores a part.

        Args:
            part: the part.
            waiting: the deadline of the call, and a function that returns True if others may follow. It is called again
                while the part waits.

        Raises:
            ShardFullError: too many bytes are waiting already.
            StoreClosedError: `close` was called.
        """
        call: Future[Outcome] = Future()
        with self._changed:
            if self._is_closed:
                raise StoreClosedError("the store is closed")
            if self._waiting and self._bytes + len(part[2]) > MAX_WAITING_BYTES:
                raise ShardFullError(f"{self._bytes} bytes already wait for a shard; retry")
            self._waiting.append(_Sending(part, waiting.deadline, call))
            self._bytes += len(part[2])
            self._may_grow = waiting.more
            self._changed.notify()
        return call

    def close(self) -> None:
        """Returns once every added part is stored or has failed."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            self._send_one(batch)
            # Releases the stored batch before the wait for the next one.
            del batch

    def _next(self) -> list[_Sending]:
        """Returns the next batch; empty after the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            until = time.monotonic() + GATHER_SECONDS
            while self._bytes < ENOUGH_BYTES and self._may_grow() and time.monotonic() < until and not self._is_closed:
                self._changed.wait(_POLL_SECONDS)
            batch: list[_Sending] = []
            size = 0
            while self._waiting:
                size += len(self._waiting[0].part[2])
                if batch and size > MAX_BATCH_BYTES:
                    break
                batch.append(self._waiting.popleft())
                self._bytes -= len(batch[-1].part[2])
            return batch

    def _send_one(self, batch: Sequence[_Sending]) -> None:
        now = time.monotonic()
        for late in (own for own in batch if own.deadline <= now):
            late.call.set_exception(UnavailableError("a shard did not accept its part of the request in time"))
        sent = [own for own in batch if own.deadline > now]
        if not sent:
            return
        try:
            outcomes = self._send([own.part for own in sent], max(own.deadline for own in sent) - now)
        except Exception as error:  # noqa: BLE001  # the waiting callers raise it
            for own in sent:
                own.call.set_exception(error)
            return
        for own, outcome in zip(sent, outcomes, strict=True):
            if isinstance(outcome, SpanwiseError):
                own.call.set_exception(outcome)
            else:
                own.call.set_result(outcome)
