"""The code in the process of a shard."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from spanwise._engine import TraceStore, set_page_memory_limit
from spanwise.cluster.shards.local import LocalShard
from spanwise.cluster.shards.shard import Ask, Part
from spanwise.engine_globals import EngineGlobals
from spanwise.errors import SpanwiseError, StoreLockedError, UnavailableError
from spanwise.store_protocol import Download

if TYPE_CHECKING:
    from spanwise.cluster.ray.batches import Outcomes
    from spanwise.cluster.shards.shard import Outcome

LOCKED_SECONDS = 10.0
"""How long a shard waits for the previous holder of its store. A killed process may take a moment to end."""
MAX_DOWNLOADS = 64
"""Exports that are read at the same time."""
FORGET_SECONDS = 300.0
"""An export without readers is forgotten after this time."""
_BATCH_BYTES = 1024 * 1024
_PARTS_AT_ONCE = 32
"""Parts of a batch that wait for the disk together."""
_RETRY_SECONDS = 0.1
EXPIRE_SECONDS = 1.0
"""How often searches past their deadline are cancelled."""


class ShardPlan(Struct, frozen=True):
    """The configuration of a shard's process.

    Attributes:
        location: the absolute path of its store, or its URL.
        layout: the number of the layout that determines its traces.
        options: the options of the store, as `TraceStore.open` takes them, or `TraceStore.follow`.
        tables: the conventions and prices.
        page_bytes: the document bytes of all pages being built.
        threads: the number of search threads; None for one per core.
        follows: True for a follower of a store that another process writes to.
    """

    location: str
    layout: int
    options: bytes
    tables: EngineGlobals
    page_bytes: int
    threads: int | None
    follows: bool = False


class ProcessLocation(Struct, frozen=True):
    """The location of a shard's process.

    Attributes:
        host: the name of its machine.
        process_id: its id there.
        error: why its store is not open; None if it is.
    """

    host: str
    process_id: int
    error: str | None


class Question(Struct, frozen=True, array_like=True):
    """A request of a search, as MessagePack bytes. Ray passes bytes on without inspecting them.

    Attributes:
        ask: the search.
        question: see `Shard.begin_answer`.
        is_first: see there.
    """

    ask: Ask
    question: bytes
    is_first: bool


read_question = msgspec.msgpack.Decoder(Question).decode
read_parts = msgspec.msgpack.Decoder(list[Part]).decode
write = msgspec.msgpack.Encoder().encode


class NotOpenError(UnavailableError):
    """The store of a shard is being opened, or failed to open. The message has the reason and is not for clients."""


class _Reading(Struct):
    download: Download
    lock: threading.Lock
    expires_at: float


class ShardActor:
    """The shard of this process. Its methods are called from several threads at the same time.

    The store is opened in the background, so that a restarted process can report at once that it is not ready. A failed
    open is retried at the next request.
    """

    def __init__(self, plan: ShardPlan) -> None:
        """Starts to open the store."""
        if plan.threads is not None:
            # The engine reads this at its first search.
            os.environ["RAYON_NUM_THREADS"] = str(plan.threads)
        self._plan = plan
        self._lock = threading.Lock()
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="spanwise-open")
        self._opening = self._opener.submit(_open, plan)
        self._readings: dict[int, _Reading] = {}
        self._storing = ThreadPoolExecutor(_PARTS_AT_ONCE, thread_name_prefix="spanwise-store")
        threading.Thread(target=self._expire, name="spanwise-expire", daemon=True).start()

    def open(self) -> None:
        """Returns once the store is open.

        Raises:
            SpanwiseError: the error of `TraceStore.open`.
        """
        self._opening.result()

    def plan(self) -> ShardPlan:
        """Returns the configuration of this process."""
        return self._plan

    def location(self) -> ProcessLocation:
        """Returns the location of this process, and why its store is not open."""
        try:
            self._shard()
        except NotOpenError as error:
            return ProcessLocation(socket.gethostname(), os.getpid(), str(error))
        return ProcessLocation(socket.gethostname(), os.getpid(), None)

    def call(self, method: str, *arguments: object, **named: object) -> Any:  # noqa: ANN401  # the result type of the method
        """Calls a method of `LocalShard` and returns its result.

        Raises:
            NotOpenError: the store is not open.
            SpanwiseError: the error of the method.
        """
        return getattr(self._shard(), method)(*arguments, **named)

    def answer(self, question: bytes) -> bytes:
        """Returns the response to a `Question`.

        Raises:
            SpanwiseError: see `call`.
        """
        asked = read_question(question)
        return self._shard().answer(asked.ask, asked.question, asked.is_first)

    def ingest(self, parts: bytes) -> Outcomes:
        """Stores parts of requests, each by itself, and returns once all of them are durable or have failed.

        Args:
            parts: a list of them, as MessagePack.

        Raises:
            NotOpenError: the store is not open. No part was stored.
        """
        shard = self._shard()

        def store(part: Part) -> Outcome | SpanwiseError:
            try:
                return shard.ingest(part)
            except SpanwiseError as error:
                return error

        first, *others = read_parts(parts)
        stored = self._storing.map(store, others)
        return [store(first), *stored]

    def begin_export(self, ask: Ask, form: str) -> int:
        """Returns the number of a new export of the current state.

        Raises:
            SpanwiseError: see `call`; or too many exports are running.
        """
        reading = _Reading(self._shard().export(ask, form), threading.Lock(), time.monotonic() + FORGET_SECONDS)
        number = secrets.randbits(63)
        with self._lock:
            now = time.monotonic()
            self._readings = {own: reading for own, reading in self._readings.items() if reading.expires_at > now}
            if len(self._readings) >= MAX_DOWNLOADS:
                raise UnavailableError(f"more than {MAX_DOWNLOADS} exports of a shard at once")
            self._readings[number] = reading
        return number

    def read_export(self, number: int) -> tuple[bytes, tuple[int, int, int], bool]:
        """Returns the next bytes of an export, its progress, and True for the last bytes.

        Raises:
            UnavailableError: the export was forgotten.
            SpanwiseError: a trace cannot be read.
        """
        with self._lock:
            reading = self._readings.get(number)
        if reading is None:
            raise UnavailableError("a shard lost the state of the export; restart the export")
        reading.expires_at = time.monotonic() + FORGET_SECONDS
        chunks, size = [], 0
        with reading.lock:
            for chunk in reading.download:
                chunks.append(chunk)
                size += len(chunk)
                if size >= _BATCH_BYTES:
                    return b"".join(chunks), reading.download.progress, False
        self.end_export(number)
        return b"".join(chunks), reading.download.progress, True

    def end_export(self, number: int) -> None:
        """Forgets an export. A no-op for an unknown number."""
        with self._lock:
            self._readings.pop(number, None)

    def _expire(self) -> None:
        """Cancels searches past their deadline in the engine, even if their caller has ended."""
        while True:
            time.sleep(EXPIRE_SECONDS)
            opening = self._opening
            if opening.done() and opening.exception() is None:
                opening.result().expire()

    def _shard(self) -> LocalShard:
        with self._lock:
            opening = self._opening
            if not opening.done():
                raise NotOpenError("its store is being opened")
            if (error := opening.exception()) is not None:
                self._opening = self._opener.submit(_open, self._plan)
        if isinstance(error, SpanwiseError):
            raise NotOpenError(f"the store of the shard cannot be opened: {error}") from error
        return opening.result()


class FollowerActor(ShardActor):
    """The follower of a shard. Process lists show the class name, which distinguishes the two."""


def _open(plan: ShardPlan) -> LocalShard:
    plan.tables.apply()
    set_page_memory_limit(plan.page_bytes)
    deadline = time.monotonic() + LOCKED_SECONDS
    while True:
        try:
            if plan.follows:
                return LocalShard(TraceStore.follow(plan.location, plan.options), plan.layout, catches_up=True)
            return LocalShard(TraceStore.open(plan.location, plan.options), plan.layout)
        except StoreLockedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
