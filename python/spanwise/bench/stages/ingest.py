"""Times ingest over HTTP until the spans are durable, and searches while spans come in."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.literals import Literals
from spanwise.bench.queries import queries, questions
from spanwise.bench.results import Busy, Durable, Ingest
from spanwise.bench.sending import send_all
from spanwise.bench.serving import Connection, Server, expect_ok
from spanwise.bench.stages.http import JSON, body_of
from spanwise.bench.tables import share
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spanwise.bench.plan import Plan

CONNECTIONS = 8
PACED_CONNECTIONS = 4
SPANS_A_SECOND = 20_000
_BYTES_A_SECOND = 300_000_000
"""More than is ever sent: what must be free on the disk for each second."""
_SETTLING_SHARE = 0.1
_SEED = 0x1265


def run(plan: Plan) -> None:
    """Measures both; what is written for it is removed again.

    Raises:
        ConfigurationError: the disk is too full.
        ServerError: the server did not start, or did not take a request.
    """
    load = machine.load()
    needed = int(_BYTES_A_SECOND * plan.effort.ingest_seconds) + (2 << 30)
    free = shutil.disk_usage(plan.folder).free
    if free < needed:
        raise ConfigurationError(
            f"ingest needs {needed >> 20:,} MiB of disk at `{plan.folder}`, {free >> 20:,} MiB are free"
        )
    durable = _durable(plan)
    busy = _busy(plan)
    plan.results.ingest = Ingest(durable, busy, machine.circumstances(load))


def _durable(plan: Plan) -> Durable:
    """Sends into an empty store, as fast as it is acknowledged."""
    folder = plan.folder / "ingest"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        disk = machine.disk_megabytes_a_second(folder)
        with Server(folder / "data") as server:
            written = machine.written_bytes(server.process.pid)
            sent = send_all(server.port, CONNECTIONS, plan.effort.ingest_seconds)
            written = machine.written_bytes(server.process.pid) - written
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    plan.say(f"ingest: {sent.spans / sent.seconds:,.0f} spans/s durable over {CONNECTIONS} connections")
    return Durable(
        connections=CONNECTIONS,
        seconds=sent.seconds,
        spans=sent.spans,
        sent_bytes=sent.sent_bytes,
        refusals=sent.refusals,
        disk_bytes=written,
        disk_megabytes_a_second=disk,
        client_cpu_seconds=sent.cpu_seconds,
    )


def _busy(plan: Plan) -> Busy:
    """Searches a copy of the store, first at rest, then while another process sends at a pace."""
    folder = plan.folder / "busy"
    shutil.rmtree(folder, ignore_errors=True)
    _link(plan.store, folder / "data" / "traces")
    bodies = _searches(plan)
    seconds = plan.effort.ingest_seconds
    settling = _SETTLING_SHARE * seconds
    # The sender is a process of its own: it must not hold up the clock of the searches.
    context = multiprocessing.get_context("spawn")
    try:
        with (
            Server(folder / "data") as server,
            server.connect() as connection,
            ProcessPoolExecutor(1, context) as process,
        ):
            _search(connection, bodies, settling)
            idle = _search(connection, bodies, seconds)
            sending = process.submit(send_all, server.port, PACED_CONNECTIONS, seconds + settling, SPANS_A_SECOND)
            _search(connection, bodies, settling)
            busy = _search(connection, bodies, seconds)
            sent = sending.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    plan.say(
        f"ingest: searches p99 {share(idle, 0.99):.2f} ms idle, {share(busy, 0.99):.2f} ms "
        f"at {sent.spans / sent.seconds:,.0f} spans/s"
    )
    return Busy(
        idle=idle,
        busy=busy,
        spans=sent.spans,
        seconds=sent.seconds,
        refusals=sent.refusals,
        asked=sent.asked,
        found=sent.found,
    )


def _searches(plan: Plan) -> Iterator[bytes]:
    """Yields bodies of searches for a page of 20 full trees, every query in turn, for ever."""
    literals = Literals(plan.rows(), plan.shape.seed ^ _SEED)
    asked = [questions(query, literals) for query in queries(plan.shape) if query.group_by == "run"]
    drawn = [body_of(question) for number in range(40) for question in (next(one) for one in asked)]
    return cycle(drawn)


def _search(connection: Connection, bodies: Iterator[bytes], seconds: float) -> list[float]:
    """Searches one after another for so long; returns milliseconds."""
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
    """Copies a store that is closed by links to its files: none of them is ever changed."""
    for file in store.rglob("*"):
        if file.is_file() and file.name != "LOCK":
            place = copy / file.relative_to(store)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, place)
