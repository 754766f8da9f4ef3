"""Sends requests to all shards at once: the rounds of a search, and other work of every shard."""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from spanwise._engine import QueryRoot
from spanwise.cluster.shards.shard import Ask
from spanwise.errors import CancelledError, PinLostError, SpanwiseError, StoreClosedError, UnavailableError
from spanwise.pools.fair_threads import FairThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from spanwise._engine import CancellationToken, Query, Response
    from spanwise.cluster.shards.shard import Call, Outcome, Shard, Waiting

    Notify = Callable[[Sequence[int]], None]

Result = TypeVar("Result")

MAX_RESTARTS = 2
"""How often a search restarts because a shard has lost its state."""
_SEARCHES_PER_SHARD = 8
_WRITES_PER_SHARD = 32
"""Concurrent searches and writes of one shard. They are separate, because writes wait for the disk and must not delay
searches."""
_CALLERS = 8
"""The factor by which threads may exceed the shared ones. One search of each caller has threads of its own."""
_POLL_SECONDS = 0.05
_GATHER_SECONDS = 0.05
"""The ends of searches are collected for this long, and each shard is told about them together."""
_MAX_GATHERED = 64


class Scatter:
    """Calls shards in threads of its own."""

    def __init__(self, shards: Sequence[Shard], layout: int, seconds: float) -> None:
        """Starts threads on demand.

        Args:
            shards: the shards, in the order of the layout.
            layout: the number of the layout.
            seconds: the deadline of a search.
        """
        self._shards = tuple(shards)
        self._layout = layout
        self._seconds = seconds
        count = len(self._shards)
        searches = _SEARCHES_PER_SHARD * count
        self._searches = FairThreads("spanwise-shards", searches, _CALLERS * searches, own=count)
        self._writes = ThreadPoolExecutor(_WRITES_PER_SHARD * count, thread_name_prefix="spanwise-shards-write")
        # Unlike a pool, it is safe to use during garbage collection, which is when abandoned searches end.
        self._notices: SimpleQueue[tuple[Notify, int] | None] = SimpleQueue()
        self._teller = threading.Thread(target=_deliver, args=(self._notices,), name="spanwise-shards-end", daemon=True)
        self._teller.start()

    def ask(self, query: bytes) -> Ask:
        """Returns the description of a new search, for every shard."""
        return Ask(self._layout, secrets.randbits(63), query, self._seconds)

    def search(self, query: Query, only: int | None = None) -> Search:
        """Returns a search that has not sent a request yet.

        Args:
            query: the query.
            only: the number of the only shard to search; None for all shards.
        """
        shards = self._shards if only is None else self._shards[only : only + 1]
        return Search(self, query, shards, self._seconds)

    def each(self, work: Callable[[Shard], Result]) -> list[Future[Result]]:
        """Returns the results of `work` for every shard, after all of them have succeeded or failed."""
        calls = [_submit(self._writes, work, shard) for shard in self._shards]
        wait(calls)
        return calls

    def begin_ingest(self, shard: int, received: int, part: bytes, waiting: Waiting) -> Call[Outcome]:
        """Starts to store a part of a request on the shard of this number; see `Shard.begin_ingest`."""
        run = partial(_submit, self._writes)
        return self._shards[shard].begin_ingest((self._layout, received, part), waiting, run)

    def ask_shard(self, work: Callable[..., Result], *args: object) -> Future[Result]:
        """Calls `work`, a request of a search to a shard, in a thread.

        Raises:
            StoreClosedError: `close` was called.
        """
        return self._searches.submit(partial(work, *args))

    def tell(self, notify: Notify, number: int) -> None:
        """Tells a shard soon that a search or a tail has ended, which it would otherwise notice later."""
        self._notices.put((notify, number))

    def close(self) -> None:
        """Waits for running calls and drops waiting ones."""
        self._searches.close()
        self._writes.shutdown(wait=True, cancel_futures=True)
        self._notices.put(None)
        self._teller.join()


def _deliver(notices: SimpleQueue[tuple[Notify, int] | None]) -> None:
    is_open = True
    while is_open:
        is_open, gathered = _gather(notices)
        for notify, numbers in gathered.items():
            # A shard that cannot be told forgets the state by itself.
            with suppress(SpanwiseError):
                notify(numbers)


def _gather(notices: SimpleQueue[tuple[Notify, int] | None]) -> tuple[bool, dict[Notify, list[int]]]:
    """Returns the notices of a few milliseconds, starting with the next one, and True if more will follow."""
    gathered: dict[Notify, list[int]] = {}
    until = None
    for _ in range(_MAX_GATHERED):
        try:
            notice = notices.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
        except Empty:
            break
        if notice is None:
            return False, gathered
        until = until or time.monotonic() + _GATHER_SECONDS
        notify, number = notice
        gathered.setdefault(notify, []).append(number)
    return True, gathered


def _submit(threads: ThreadPoolExecutor, work: Callable[..., Result], *args: object) -> Future[Result]:
    try:
        return threads.submit(work, *args)
    except RuntimeError as error:
        raise StoreClosedError("the store is closed") from error


class Search:
    """One search over shards."""

    def __init__(self, scatter: Scatter, query: Query, shards: Sequence[Shard], seconds: float) -> None:
        """Starts without a request. The deadline runs from now on."""
        self._scatter = scatter
        self._query = query
        self._shards = shards
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._restarts = 0
        self._start()

    def run(self, cancel: CancellationToken | None, reserve: Callable[[int], object] | None) -> Response:
        """Sends requests to the shards until the response is known.

        Args:
            cancel: cancels the search from another thread.
            reserve: called with the maximum memory on all shards in bytes, once it is known.

        Raises:
            CancelledError: `cancel` was used.
            UnavailableError: a shard does not respond, or the deadline passed.
            SpanwiseError: the search is invalid, or a store has failed.
        """
        try:
            while True:
                try:
                    self._run(cancel, reserve)
                    return self._root.finish()
                except PinLostError:
                    self._end()
                    self._restarts += 1
                    if self._restarts > MAX_RESTARTS:
                        raise
                    self._start()
        finally:  # the shards forget the search
            self._end()

    def _start(self) -> None:
        self._root = QueryRoot(self._query, len(self._shards))
        self._ask = self._scatter.ask(self._root.query)
        self._asked: set[int] = set()
        # The shards forget the state of a search that is abandoned before its end.
        self._end = weakref.finalize(self, _end, self._scatter, self._shards, self._ask.search, self._asked)

    def _run(self, cancel: CancellationToken | None, reserve: Callable[[int], object] | None) -> None:
        is_reserved = reserve is None
        while True:
            if not is_reserved and reserve is not None and (needed := self._root.max_bytes) is not None:
                reserve(needed)
                is_reserved = True
            if (requests := self._root.requests()) is None:
                return
            calls = {}
            for number, request in enumerate(requests):
                if request is not None:
                    is_first = number not in self._asked
                    self._asked.add(number)
                    calls[number] = self._shards[number].begin_answer(
                        self._ask, request, is_first=is_first, run=self._scatter.ask_shard
                    )
            self._await(calls.values(), cancel)
            self._root.add([calls[number].result() if number in calls else None for number in range(len(requests))])

    def _await(self, calls: Iterable[Call[bytes]], cancel: CancellationToken | None) -> None:
        """Waits for responses; returns early after a failure."""
        waiting = list(calls)
        while time.monotonic() < self._deadline:
            # A periodic check of the other calls detects failures early.
            seconds = _POLL_SECONDS
            for call in tuple(waiting):
                try:
                    call.result(seconds)
                    waiting.remove(call)
                except TimeoutError:
                    seconds = 0.0
            if cancel is not None and cancel.is_cancelled:
                raise CancelledError("the request was cancelled")
            if not waiting:
                return
        raise UnavailableError(f"a shard has not answered for {self._seconds:g} s")


def _end(scatter: Scatter, shards: Sequence[Shard], search: int, asked: set[int]) -> None:
    for number in asked:
        scatter.tell(shards[number].end, search)
