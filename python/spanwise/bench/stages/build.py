"""Builds the store by ingesting OTLP requests, as an instrumented program would send them.

For rows without documents, `row_segments.py` writes the files of the store directly.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from spanwise.bench import machine
from spanwise.bench.data import row_segments
from spanwise.bench.data.documents import Writer
from spanwise.bench.data.otlp_encoding import CONTENT_TYPE
from spanwise.bench.data.rows import CHUNK, chunks, draw, newest_first, to_table
from spanwise.bench.peers.spanwise import WITHOUT_INDEXES
from spanwise.bench.results import Built
from spanwise.errors import ConfigurationError, StoreStoppedError, UnavailableError
from spanwise.traces import TraceStore

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from spanwise.bench.data.documents import Request
    from spanwise.bench.data.shape import Documents
    from spanwise.bench.plan import Plan

BYTES_PER_TRACE: dict[Documents, int] = {"real": 4_000, "small": 1_200, "none": 260}
"""The disk space needed per trace: somewhat more than the store and its indexes take in the end."""
_SPARE_BYTES = 4 << 30
"""What comes in is compressed later; sending waits while less than this is free."""
_DISK_SECONDS = 1.0
_SENDERS = 4
_RETRY_SECONDS = 0.02
_CHUNKS_PER_LOG_LINE = 20
_PROGRESS = "progress.json"


class _BuildProgress(msgspec.Struct):
    """How many chunks are durable, and the totals so far."""

    chunks: int = 0
    spans: int = 0
    sent_bytes: int = 0
    seconds: float = 0.0


def run(plan: Plan) -> None:
    """Fills and compacts the store, and writes the rows next to it. Resumes an interrupted build.

    Raises:
        ConfigurationError: the disk is too full.
    """
    load = machine.load()
    plan.store.mkdir(parents=True, exist_ok=True)
    _expect_disk(plan)
    is_rows_only = plan.shape.documents == "none"
    progress, compact_seconds = (_write_row_segments if is_rows_only else _send)(plan)
    is_sampled = is_rows_only and not plan.effort.peers
    _write_rows(plan, row_segments.sampled(plan.shape) if is_sampled else range(chunks(plan.shape)))
    plan.results.build = Built(
        fill_seconds=progress.seconds,
        compact_seconds=compact_seconds,
        spans=progress.spans,
        sent_bytes=progress.sent_bytes,
        disk_bytes=machine.folder_bytes(plan.store),
        circumstances=machine.circumstances(load),
    )


def _expect_disk(plan: Plan) -> None:
    needed = plan.shape.traces * BYTES_PER_TRACE[plan.shape.documents] + _SPARE_BYTES
    free = shutil.disk_usage(plan.folder).free + machine.folder_bytes(plan.store)
    if free < needed:
        raise ConfigurationError(
            f"{plan.shape.traces:,} traces with {plan.shape.documents} documents need {needed >> 20:,} MiB "
            f"of disk at `{plan.folder}`, {free >> 20:,} MiB are free"
        )


def _write_row_segments(plan: Plan) -> tuple[_BuildProgress, float]:
    """Writes rows without documents; returns the progress, and the seconds for indexing."""
    fill_seconds, index_seconds = row_segments.build(plan)
    return _BuildProgress(chunks(plan.shape), seconds=fill_seconds), index_seconds


def _send(plan: Plan) -> tuple[_BuildProgress, float]:
    """Fills and compacts the store; returns the progress, and the seconds for compacting."""
    store = TraceStore.open(str(plan.store), WITHOUT_INDEXES)
    try:
        progress = _fill(plan, store)
        plan.log("build: compacting")
        begun = time.perf_counter()
        store.compact()
        return progress, time.perf_counter() - begun
    finally:
        store.close()


def _fill(plan: Plan, store: TraceStore) -> _BuildProgress:
    """Sends all chunks that are not durable yet. Sending a chunk twice has no effect."""
    file = plan.folder / _PROGRESS
    progress = msgspec.json.decode(file.read_bytes(), type=_BuildProgress) if file.exists() else _BuildProgress()
    writer = Writer(plan.shape)
    with ThreadPoolExecutor(_SENDERS) as senders:
        for chunk in range(progress.chunks, chunks(plan.shape)):
            begun = time.perf_counter()
            while shutil.disk_usage(plan.folder).free < _SPARE_BYTES:
                time.sleep(_DISK_SECONDS)
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
            if progress.chunks % _CHUNKS_PER_LOG_LINE == 0:
                _log_progress(plan, progress)
        begun = time.perf_counter()
        store.flush()
        progress.seconds += time.perf_counter() - begun
    _log_progress(plan, progress)
    return progress


def _log_progress(plan: Plan, progress: _BuildProgress) -> None:
    done = min(progress.chunks * CHUNK, plan.shape.traces)
    rate = progress.spans / progress.seconds
    plan.log(f"build: {done:,} of {plan.shape.traces:,} traces, {progress.spans:,} spans, {rate:,.0f} spans/s")


def send(store: TraceStore, request: Request) -> None:
    """Sends one request, retrying while the store is busy."""
    while True:
        try:
            report = store.ingest(request.body, CONTENT_TYPE)
        except StoreStoppedError:
            raise
        except UnavailableError:
            time.sleep(_RETRY_SECONDS)
            continue
        if report.rejected_spans:
            raise ConfigurationError(f"the store rejected generated spans: {report.reason}")
        return


def _write_rows(plan: Plan, chosen: range) -> None:
    """Writes the generated rows of some chunks to a file, without reading the store."""
    plan.log("build: writing the rows for the peers")
    table = newest_first(to_table(draw(plan.shape, chunk)) for chunk in chosen)
    staged: Path = plan.rows_file.with_suffix(".new")
    with pa.OSFile(str(staged), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    staged.replace(plan.rows_file)
