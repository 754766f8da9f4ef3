"""Times durable ingest over HTTP, and searches during ingest."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.data.literals import Literals
from spanwise.bench.queries import bind_literals, query_templates
from spanwise.bench.results import Busy, Durable, Ingest
from spanwise.bench.service.load_generator import send_all
from spanwise.bench.service.server import Connection, ServerProcess, expect_ok
from spanwise.bench.stages import indexes
from spanwise.bench.stages.http import JSON, body_of
from spanwise.bench.tables import percentile
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spanwise.bench.plan import Plan

CONNECTIONS = 8
RATE_LIMITED_CONNECTIONS = 4
SPANS_A_SECOND = 20_000
_BYTES_A_SECOND = 300_000_000
"""The disk space needed per second: more than is ever sent."""
_WARMUP_SHARE = 0.1
_SEED = 0x1265


def run(plan: Plan) -> None:
    """Measures both, and removes the stores created for it.

    Raises:
        ConfigurationError: the disk is too full.
        ServerError: the server did not start, or rejected a request.
    """
    load = machine.load()
    needed = int(_BYTES_A_SECOND * plan.effort.ingest_seconds) + (2 << 30)
    free = shutil.disk_usage(plan.folder).free
    if free < needed:
        raise ConfigurationError(
            f"ingest needs {needed >> 20:,} MiB of disk at `{plan.folder}`, {free >> 20:,} MiB are free"
        )
    durable = _durable(plan)
    indexes.complete(plan)
    busy = _busy(plan)
    plan.results.ingest = Ingest(durable, busy, machine.circumstances(load))


def _durable(plan: Plan) -> Durable:
    """Sends to an empty store as fast as it acknowledges."""
    folder = plan.folder / "ingest"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        disk = machine.disk_megabytes_a_second(folder)
        with ServerProcess(folder / "data") as server:
            written = machine.written_bytes(server.process.pid)
            sent = send_all(server.port, CONNECTIONS, plan.effort.ingest_seconds)
            written = machine.written_bytes(server.process.pid) - written
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    plan.log(f"ingest: {sent.spans / sent.seconds:,.0f} spans/s durable over {CONNECTIONS} connections")
    return Durable(
        connections=CONNECTIONS,
        seconds=sent.seconds,
        spans=sent.spans,
        sent_bytes=sent.sent_bytes,
        rejections=sent.rejections,
        disk_bytes=written,
        disk_megabytes_a_second=disk,
        client_cpu_seconds=sent.cpu_seconds,
    )


def _busy(plan: Plan) -> Busy:
    """Searches a copy of the store, first without ingest, then while another process sends at a fixed rate."""
    folder = plan.folder / "busy"
    shutil.rmtree(folder, ignore_errors=True)
    _link(plan.store, folder / "data" / "traces")
    bodies = _searches(plan)
    seconds = plan.effort.ingest_seconds
    warmup = _WARMUP_SHARE * seconds
    # The sender runs in its own process, so that it does not delay the searches.
    context = multiprocessing.get_context("spawn")
    try:
        with (
            ServerProcess(folder / "data") as server,
            server.connect() as connection,
            ProcessPoolExecutor(1, context) as process,
        ):
            _search(connection, bodies, warmup)
            idle = _search(connection, bodies, seconds)
            sending = process.submit(send_all, server.port, RATE_LIMITED_CONNECTIONS, seconds + warmup, SPANS_A_SECOND)
            _search(connection, bodies, warmup)
            busy = _search(connection, bodies, seconds)
            sent = sending.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    plan.log(
        f"ingest: searches p99 {percentile(idle, 0.99):.2f} ms idle, {percentile(busy, 0.99):.2f} ms "
        f"at {sent.spans / sent.seconds:,.0f} spans/s"
    )
    return Busy(
        idle=idle,
        busy=busy,
        spans=sent.spans,
        seconds=sent.seconds,
        rejections=sent.rejections,
        asked=sent.asked,
        found=sent.found,
    )


def _searches(plan: Plan) -> Iterator[bytes]:
    """Yields an endless series of search bodies for 20 full trees, cycling through the queries."""
    literals = Literals(plan.rows(), plan.shape.seed ^ _SEED)
    bound = [
        bind_literals(template, literals) for template in query_templates(plan.shape) if template.group_by == "run"
    ]
    drawn = [body_of(query) for number in range(40) for query in (next(one) for one in bound)]
    return cycle(drawn)


def _search(connection: Connection, bodies: Iterator[bytes], seconds: float) -> list[float]:
    """Searches repeatedly for `seconds`; returns the milliseconds of each search."""
    times = []
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        (body,) = islice(bodies, 1)
        begun = time.perf_counter_ns()
        reply = connection.post("/traces/search", body, JSON)
        times.append((time.perf_counter_ns() - begun) / 1e6)
        expect_ok(reply)
    return times


def _link(store: Path, copy: Path) -> None:
    """Copies a closed store by hard links, which is safe because its files are immutable."""
    for file in store.rglob("*"):
        if file.is_file() and file.name != "LOCK":
            link = copy / file.relative_to(store)
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, link)
