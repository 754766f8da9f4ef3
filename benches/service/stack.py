"""Measures how many pages of 20 traces per second the whole stack serves, and its overhead over the bare engine.

Run it by hand: `python benches/service/stack.py`. It needs the program `wrk`, and prints one table. The cost of a page
is also given in CPU time, which other programs on the machine hardly affect.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from spanwise import Filter, TraceStore
from spanwise.demo import CONTENT_TYPE, export_requests
from spanwise.traces.search import queries
from support.clients.tokens import as_admin, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = int(os.environ.get("BENCH_TRACES", "20000"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "10"))
SEED = 7
ROUNDS = 300
CONNECTIONS = (1, 8, 64)
SEARCHES = {
    "all": b"null",
    "status EQ ERROR": b'{"op":"EQ","key":"status","value":"ERROR"}',
}
# Warm-up requests are not counted. A response that is not a page is an error and is printed.
SCRIPT = """
wrk.method = "POST"
wrk.body = [[{body}]]
wrk.headers["Content-Type"] = "application/json"
{authorization}
"""


class EnginePage(NamedTuple):
    """One page served by the engine alone: median and CPU time in ms, total, items."""

    median: float
    processor: float
    total: int
    items: bytes


def fill(folder: Path) -> dict[str, EnginePage]:
    """Fills the store, and measures a page of each search with the engine alone."""
    store = TraceStore.open(str(folder))
    for export in export_requests(TRACES, SEED, NOW):
        assert store.ingest(export.body, CONTENT_TYPE).rejected_spans == 0
    store.flush()
    found = {}
    for name, source in SEARCHES.items():
        compiled = Filter.compile(source)
        latencies = []
        processor = time.process_time()
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            page = store.query(queries.runs(compiled, 1, 20))
            latencies.append((time.perf_counter() - begun) * 1000)
        processor = (time.process_time() - processor) * 1000 / ROUNDS
        found[name] = EnginePage(statistics.median(latencies), processor, page.total, page.data)
    store.close()
    return found


@contextmanager
def script(body: bytes, headers: dict[str, str]) -> Iterator[str]:
    """Yields the path of a script for `wrk`."""
    authorization = "\n".join(f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items())
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(SCRIPT.format(body=body.decode(), authorization=authorization))
        file.flush()
        yield file.name


def processor_seconds(service: RunningService) -> float:
    """Returns the CPU time of the service so far."""
    fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(service: RunningService, path: str, connections: int, seconds: int) -> tuple[float, float, float, float]:
    """Returns the requests per second, and in ms the median and 99th percentile of the latency and the CPU time."""
    wrk = shutil.which("wrk")
    assert wrk, "the program `wrk` is not installed"
    arguments = [f"-t{min(2, connections)}", f"-c{connections}", f"-d{seconds}s", "-s", path]
    before = processor_seconds(service)
    done = subprocess.run(
        [wrk, "--latency", *arguments, f"{service.url}/traces/search"], capture_output=True, text=True, check=True
    ).stdout
    processor = processor_seconds(service) - before
    assert "Non-2xx" not in done, done
    assert "Socket errors" not in done, done
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done)
    count = re.search(r"(\d+) requests in", done)
    assert rate, done
    assert count, done
    answered = int(count[1]) + connections / 2  # requests in flight at the end are about half done
    return float(rate[1]), _milliseconds(done, "50%"), _milliseconds(done, "99%"), processor * 1000 / answered


def _milliseconds(report: str, percentile: str) -> float:
    found = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s|m)\s*\n", report)
    assert found, report
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}[found[2]]


def measure(service: RunningService, headers: dict[str, str], engine: dict[str, EnginePage]) -> Iterator[str]:
    """Yields the rows of the table: every search with every number of connections."""
    for name, alone in engine.items():
        body = json.dumps({"filter": json.loads(SEARCHES[name]), "limit": 20}).encode()
        response = service.http.post(
            "/traces/search", content=body, headers={"Content-Type": "application/json"} | headers
        )
        page = response.raise_for_status().json()
        assert page["data"] == json.loads(alone.items)
        assert page["meta"]["total_count"] == alone.total
        with script(body, headers) as path:
            load(service, path, 8, 2)
            for connections in CONNECTIONS:
                rate, median, last, processor = load(service, path, connections, SECONDS)
                over = f"{median - alone.median:8.2f}" if connections == 1 else " " * 8
                figures = f"{rate:8.0f} {median:8.2f} {last:8.2f} {alone.median:8.2f} {over}"
                costs = f"{processor:8.2f} {alone.processor:8.2f} {processor - alone.processor:8.2f}"
                yield f"{name:16} {bool(headers)!s:6} {len(response.content):8} {connections:4} {figures} {costs}"


def main() -> None:
    log = sys.stdout.write
    log(f"{TRACES} traces, {SECONDS} s each; load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    log("search           token     bytes conn    req/s   p50 ms   p99 ms   engine overhead   cpu ms   engine overhead")
    log("\n")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        engine = fill(data / "traces")
        for authorization in (False, True):
            flags = ["--authorization"] if authorization else []
            with RunningService(data, *flags, is_ready=True, JWT_JWKS_FILE=jwks_file(Path(folder))) as service:
                for row in measure(service, as_admin() if authorization else {}, engine):
                    log(row + "\n")
                    sys.stdout.flush()
                assert service.stop() == 0
    log(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
