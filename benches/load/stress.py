"""Stress test: checks that a service with 1 GiB of memory survives hostile load and keeps all acknowledged data.

Run it by hand as root, which is needed to limit the memory: `python benches/load/stress.py`. For `BENCH_SECONDS` (600)
it sends ingest requests as fast as they are accepted, 64 concurrent searches, 200 slow readers of event streams, and
decompression bombs. Without root the memory is measured but not limited.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from cgroup import MEBIBYTE, MemoryCgroup, resource_usage
from load_generators import TRACES, LoadResult, bomb, search, stream, trace_id, write

from spanwise import Filter, TraceStore
from spanwise.demo import CONTENT_TYPE, export_requests
from spanwise.traces.search import queries
from support.services.process import RunningService

SECONDS = int(os.environ.get("BENCH_SECONDS", "600"))
LIMIT = int(os.environ.get("BENCH_MEMORY", "1024")) * MEBIBYTE
FILLED = 20_000
CLIENTS = {write: 8, search: 64, stream: 200, bomb: 4}
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def fill(folder: Path) -> None:
    """Fills the store with traces before the test."""
    store = TraceStore.open(str(folder))
    for export in export_requests(FILLED, 7, NOW):
        assert store.ingest(export.body, CONTENT_TYPE).rejected_spans == 0
    store.close()


def serve(folder: Path, *flags: str) -> RunningService:
    """Returns a service that is still starting, so that the limit covers all of its memory."""
    path = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH", "")]))
    variables = {"PYTHONPATH": path, "SPANWISE_LOG_LEVEL": "warning"}
    return RunningService(folder / "data", "support.apps.components:service", *flags, is_ready=False, **variables)


def lost(folder: Path, acknowledged: list[int]) -> int:
    """Returns the number of acknowledged ingest requests that are not stored completely."""
    store = TraceStore.open(str(folder))
    everything = Filter.compile(b"null")
    missing = 0
    for number in acknowledged:
        ids = (trace_id(number, 0), trace_id(number, TRACES // 2), trace_id(number, TRACES - 1))
        missing += not all(store.trace(each, everything) for each in ids)
    total = store.query(queries.ids(everything, 1, 1)).total
    assert total >= len(acknowledged) * TRACES + FILLED, total
    store.close()
    return missing


def run_load(service: RunningService) -> tuple[LoadResult, list[int]]:
    """Runs the load. Returns the responses, and the private memory of the service every half second."""
    end = time.monotonic() + SECONDS
    responses: Counter[str] = Counter()
    acknowledged: list[int] = []
    private = []
    with ProcessPoolExecutor(len(CLIENTS), multiprocessing.get_context("spawn")) as pool:
        loads = [pool.submit(load, service.port, end, count) for load, count in CLIENTS.items()]
        while not all(load.done() for load in loads):
            time.sleep(0.5)
            if service.process.poll() is None:
                private.append(resource_usage(service.process.pid).private)
        for load in loads:
            responses += load.result().responses
            acknowledged += load.result().acknowledged
    return LoadResult(responses, acknowledged), private


def main() -> None:
    log = sys.stdout.write
    log(f"{SECONDS} s, {LIMIT // MEBIBYTE} MiB; load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as name, ExitStack() as opened:
        folder = Path(name)
        (folder / "data").mkdir()
        fill(folder / "data" / "traces")
        group = None
        try:
            group = opened.enter_context(MemoryCgroup(LIMIT))
        except OSError as error:
            log(f"not limited: {error}\n")
        flags = ("--min-free-bytes", "0", "--max-event-streams", "256")
        service = opened.enter_context(serve(folder, *flags))
        if group:
            group.add(service.process.pid)
        service.wait_until_ready()
        result, private = run_load(service)
        code = service.process.poll()
        log(f"responses: {dict(sorted(result.responses.items()))}\n")
        if code is None:
            log(f"{resource_usage(service.process.pid)}\n")
            service.http.get("/health", params={"ready": "true"}).raise_for_status()
            service.process.send_signal(signal.SIGTERM)
            code = service.process.wait(60)
        peak_memory, usual, last = (each / MEBIBYTE for each in (max(private), median(private), max(private[-120:])))
        log(f"exit code {code}; private memory: peak {peak_memory:.0f} MiB, median {usual:.0f} MiB, ")
        log(f"peak of the last minute {last:.0f} MiB\n")
        if group:
            peak = f"{group.peak / MEBIBYTE:.0f} MiB with page cache"
            log(f"control group: peak {peak}, limit reached {group.limit_hits} times, {group.kills} kills\n")
        count = len(result.acknowledged)
        log(f"{count} requests of {TRACES} traces acknowledged, {count / SECONDS:.1f} per second; ")
        log(f"lost {lost(folder / 'data' / 'traces', result.acknowledged)}\n")
    log(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
