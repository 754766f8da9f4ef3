"""Does a service under 1 GiB of memory stay alive, whatever it is sent, and keep what it acknowledged?

Run by hand, as root, who may limit the memory: `python benches/service/siege.py`. Exports as fast as they are taken, 64
searches, 200 slow readers of streams and bombs of every kind come at once, for `BENCH_SECONDS` (600).
Without root the memory is measured and not limited.
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

from besieging import TRACES, Outcome, bomb, search, stream, trace_id, write
from confining import MEBIBYTE, MemoryGroup, taken_by

from spanwise import Filter, TraceStore
from spanwise.demo import CONTENT_TYPE, export_requests
from support.services.process import RunningService

SECONDS = int(os.environ.get("BENCH_SECONDS", "600"))
LIMIT = int(os.environ.get("BENCH_MEMORY", "1024")) * MEBIBYTE
FILLED = 20_000
CROWDS = {write: 8, search: 64, stream: 200, bomb: 4}
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def fill(folder: Path) -> None:
    """Stores traces that were there before."""
    store = TraceStore.open(str(folder))
    for export in export_requests(FILLED, 7, NOW):
        assert store.ingest(export.body, CONTENT_TYPE).rejected_spans == 0
    store.close()


def serve(folder: Path, *flags: str) -> RunningService:
    """Returns a service that only begins: all memory it takes is to be limited."""
    path = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH", "")]))
    variables = {"PYTHONPATH": path, "SPANWISE_LOG_LEVEL": "warning"}
    return RunningService(folder / "data", "support.apps.components:service", *flags, is_ready=False, **variables)


def lost(folder: Path, acknowledged: list[int]) -> int:
    """Returns how many of the exports that were acknowledged are not there, whole."""
    store = TraceStore.open(str(folder))
    everything = Filter.compile(b"null")
    missing = 0
    for number in acknowledged:
        ids = (trace_id(number, 0), trace_id(number, TRACES // 2), trace_id(number, TRACES - 1))
        missing += not all(store.trace(each, everything) for each in ids)
    total = store.search_ids(everything, 1, 1).total_count
    assert total >= len(acknowledged) * TRACES + FILLED, total
    store.close()
    return missing


def besiege(service: RunningService) -> tuple[Outcome, list[int]]:
    """Returns what was answered, and the private memory of the service, twice a second."""
    end = time.monotonic() + SECONDS
    answers: Counter[str] = Counter()
    acknowledged: list[int] = []
    private = []
    with ProcessPoolExecutor(len(CROWDS), multiprocessing.get_context("spawn")) as pool:
        crowds = [pool.submit(crowd, service.port, end, count) for crowd, count in CROWDS.items()]
        while not all(crowd.done() for crowd in crowds):
            time.sleep(0.5)
            if service.process.poll() is None:
                private.append(taken_by(service.process.pid).private)
        for crowd in crowds:
            answers += crowd.result().answers
            acknowledged += crowd.result().acknowledged
    return Outcome(answers, acknowledged), private


def main() -> None:
    """Prints the figures."""
    say = sys.stdout.write
    say(f"{SECONDS} s, {LIMIT // MEBIBYTE} MiB; load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as name, ExitStack() as opened:
        folder = Path(name)
        (folder / "data").mkdir()
        fill(folder / "data" / "traces")
        group = None
        try:
            group = opened.enter_context(MemoryGroup(LIMIT))
        except OSError as error:
            say(f"not limited: {error}\n")
        flags = ("--min-free-bytes", "0", "--max-event-streams", "256")
        service = opened.enter_context(serve(folder, *flags))
        if group:
            group.add(service.process.pid)
        service.wait_until_ready()
        outcome, private = besiege(service)
        code = service.process.poll()
        say(f"answers: {dict(sorted(outcome.answers.items()))}\n")
        if code is None:
            say(f"{taken_by(service.process.pid)}\n")
            service.http.get("/health", params={"ready": "true"}).raise_for_status()
            service.process.send_signal(signal.SIGTERM)
            code = service.process.wait(60)
        most, usual, last = (each / MEBIBYTE for each in (max(private), median(private), max(private[-120:])))
        say(f"ended with {code}; private memory at most {most:.0f} MiB, median {usual:.0f} MiB, ")
        say(f"in the last minute at most {last:.0f} MiB\n")
        if group:
            at_most = f"{group.highest / MEBIBYTE:.0f} MiB with files"
            say(f"the group: at most {at_most}, {group.times_full} times full, {group.kills} kills\n")
        count = len(outcome.acknowledged)
        say(f"{count} exports of {TRACES} traces acknowledged, {count / SECONDS:.1f} a second; ")
        say(f"lost {lost(folder / 'data' / 'traces', outcome.acknowledged)}\n")
    say(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
