"""Gathers what is to be stored on a shard: a call costs about a millisecond of processor, whatever it carries."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeAlias

from spanwise.errors import SpanwiseError, StoreClosedError
from spanwise.traces.shards.shard import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_BATCH_BYTES = 4 << 20
"""The parts of one call take at most so many bytes, unless one of them alone does."""
ENOUGH_BYTES = 2 << 20
GATHER_SECONDS = 0.05
"""From so many bytes on more are not waited for, and never longer than this."""
_LOOK_SECONDS = 0.005

Part: TypeAlias = tuple[int, int, bytes]
"""What is to be stored: the number of the layout, when it was received, and the part of a request."""
Outcomes: TypeAlias = list[Outcome | SpanwiseError]


class Batches:
    """Sends the parts of requests to a shard: one batch at a time, with all that came during the one before.

    A part that others follow at once waits for them for a moment. One that comes alone does not.
    """

    def __init__(self, send: Callable[[Sequence[Part]], Outcomes], name: str) -> None:
        """Starts a thread.

        Args:
            send: stores parts, and returns what came of each.
            name: the name of the thread.
        """
        self._send = send
        self._waiting: deque[tuple[Part, Future[Outcome]]] = deque()
        self._bytes = 0
        self._may_grow: Callable[[], bool] = bool
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def add(self, part: Part, *, more: Callable[[], bool]) -> Future[Outcome]:
        """Returns the call that stores a part.

        Args:
            part: the part.
            more: whether others may follow at once; asked again while the part waits.

        Raises:
            StoreClosedError: `close` was called.
        """
        call: Future[Outcome] = Future()
        with self._changed:
            if self._is_closed:
                raise StoreClosedError("the store is closed")
            self._waiting.append((part, call))
            self._bytes += len(part[2])
            self._may_grow = more
            self._changed.notify()
        return call

    def close(self) -> None:
        """Returns once everything that was added is stored or has failed."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            self._send_one(batch)
            # What was stored is not kept until the next batch comes.
            del batch

    def _next(self) -> list[tuple[Part, Future[Outcome]]]:
        """Returns what is sent next; nothing once that was all."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            until = time.monotonic() + GATHER_SECONDS
            while self._bytes < ENOUGH_BYTES and self._may_grow() and time.monotonic() < until and not self._is_closed:
                self._changed.wait(_LOOK_SECONDS)
            batch: list[tuple[Part, Future[Outcome]]] = []
            size = 0
            while self._waiting:
                size += len(self._waiting[0][0][2])
                if batch and size > MAX_BATCH_BYTES:
                    break
                batch.append(self._waiting.popleft())
                self._bytes -= len(batch[-1][0][2])
            return batch

    def _send_one(self, batch: Sequence[tuple[Part, Future[Outcome]]]) -> None:
        try:
            outcomes = self._send([part for part, _ in batch])
        except Exception as error:  # noqa: BLE001  # for those who wait
            for _, call in batch:
                call.set_exception(error)
            return
        for (_, call), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, SpanwiseError):
                call.set_exception(outcome)
            else:
                call.set_result(outcome)
