"""Builds the store through the real door: the same export requests that an instrumented program would send.

Rows without documents have no such door; `bare.py` writes their files.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from spanwise.bench import bare, machine
from spanwise.bench.documents import Writer
from spanwise.bench.results import Built
from spanwise.bench.rows import CHUNK, chunks, draw, newest_first, to_table
from spanwise.bench.wire import CONTENT_TYPE
from spanwise.errors import ConfigurationError, StoreStoppedError, UnavailableError
from spanwise.traces import TraceStore

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from spanwise.bench.documents import Request
    from spanwise.bench.plan import Plan
    from spanwise.bench.shape import Documents

NEEDED_BYTES: dict[Documents, int] = {"real": 8_000, "small": 1_200, "none": 260}
"""Free disk for each trace while it is built: about twice what is left in the end, and a little."""
_SPARE_BYTES = 3 << 30
_SENDERS = 4
_SECONDS_BETWEEN = 0.02
_CHUNKS_BETWEEN = 20
_PROGRESS = "progress.json"


class _Progress(msgspec.Struct):
    """How many chunks are durable, and what that took so far."""

    chunks: int = 0
    spans: int = 0
    sent_bytes: int = 0
    seconds: float = 0.0


def run(plan: Plan) -> None:
    """Fills the store, compacts it, and writes the rows beside it. What was interrupted goes on where it was.

    Raises:
        ConfigurationError: the disk is too full.
    """
    load = machine.load()
    plan.store.mkdir(parents=True, exist_ok=True)
    _expect_disk(plan)
    is_bare = plan.shape.documents == "none"
    progress, last_seconds = (_lay if is_bare else _send)(plan)
    _write_rows(plan, bare.sampled(plan.shape) if is_bare else range(chunks(plan.shape)))
    plan.results.build = Built(
        fill_seconds=progress.seconds,
        compact_seconds=last_seconds,
        spans=progress.spans,
        sent_bytes=progress.sent_bytes,
        disk_bytes=machine.folder_bytes(plan.store),
        circumstances=machine.circumstances(load),
    )


def _expect_disk(plan: Plan) -> None:
    needed = plan.shape.traces * NEEDED_BYTES[plan.shape.documents] + _SPARE_BYTES
    free = shutil.disk_usage(plan.folder).free + machine.folder_bytes(plan.store)
    if free < needed:
        raise ConfigurationError(
            f"{plan.shape.traces:,} traces with {plan.shape.documents} documents need {needed >> 20:,} MiB "
            f"of disk at `{plan.folder}`, {free >> 20:,} MiB are free"
        )


def _lay(plan: Plan) -> tuple[_Progress, float]:
    """Writes rows without documents; returns what that took, and the seconds that indexing took."""
    fill_seconds, index_seconds = bare.build(plan)
    return _Progress(chunks(plan.shape), seconds=fill_seconds), index_seconds


def _send(plan: Plan) -> tuple[_Progress, float]:
    """Fills the store and compacts it; returns what the filling took, and the seconds that compacting took."""
    store = TraceStore.open(str(plan.store))
    try:
        progress = _fill(plan, store)
        plan.say("build: compacting")
        begun = time.perf_counter()
        store.compact()
        return progress, time.perf_counter() - begun
    finally:
        store.close()


def _fill(plan: Plan, store: TraceStore) -> _Progress:
    """Sends every chunk that was not durable yet; to send one twice changes nothing."""
    file = plan.folder / _PROGRESS
    progress = msgspec.json.decode(file.read_bytes(), type=_Progress) if file.exists() else _Progress()
    writer = Writer(plan.shape)
    with ThreadPoolExecutor(_SENDERS) as senders:
        for chunk in range(progress.chunks, chunks(plan.shape)):
            begun = time.perf_counter()
            sending: deque[Future[None]] = deque()
            for request in writer.requests(draw(plan.shape, chunk), chunk):
                sending.append(senders.submit(send, store, request))
                if len(sending) > 2 * _SENDERS:
                    sending.popleft().result()
                progress.spans += request.spans
                progress.sent_bytes += len(request.body)
            for sent in sending:
                sent.result()
            progress.chunks = chunk + 1
            progress.seconds += time.perf_counter() - begun
            file.write_bytes(msgspec.json.encode(progress))
            if progress.chunks % _CHUNKS_BETWEEN == 0:
                _tell(plan, progress)
        begun = time.perf_counter()
        store.flush()
        progress.seconds += time.perf_counter() - begun
    _tell(plan, progress)
    return progress


def _tell(plan: Plan, progress: _Progress) -> None:
    done = min(progress.chunks * CHUNK, plan.shape.traces)
    pace = progress.spans / progress.seconds
    plan.say(f"build: {done:,} of {plan.shape.traces:,} traces, {progress.spans:,} spans, {pace:,.0f} spans/s")


def send(store: TraceStore, request: Request) -> None:
    """Sends one request until the store has room for it."""
    while True:
        try:
            report = store.ingest(request.body, CONTENT_TYPE)
        except StoreStoppedError:
            raise
        except UnavailableError:
            time.sleep(_SECONDS_BETWEEN)
            continue
        if report.rejected_spans:
            raise ConfigurationError(f"the store refuses spans of the bench: {report.reason}")
        return


def _write_rows(plan: Plan, chosen: range) -> None:
    """Writes the rows of some chunks as the generator drew them; the store is not asked."""
    plan.say("build: writing the rows for the peers")
    table = newest_first(to_table(draw(plan.shape, chunk)) for chunk in chosen)
    staged: Path = plan.rows_file.with_suffix(".new")
    with pa.OSFile(str(staged), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    staged.replace(plan.rows_file)
