"""Measures the cost of the text, span and attribute indexes for ingest, and the backlog of the indexes.

Run it by hand: `python benches/load/indexing.py`. The first part sends as fast as requests are acknowledged, into empty
stores, alternately without and with the indexes, and waits until all are built. The second part sends at half of that
rate for `--minutes`, searches texts continuously, and prints a line per minute. `--rate` skips the first part.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import mean, quantiles
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from cgroup import MEBIBYTE, resource_usage

from spanwise.bench.service.load_generator import send_all
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from spanwise.bench.service.load_generator import Sent

CONNECTIONS = 8
WINDOW_SECONDS = 60
WAITING = ("spans", "texts", "attributes")
WITHOUT = {f"SPANWISE_INDEX_{index.upper()}": "false" for index in WAITING}
WORDS = ("refused", "timeout", "customer_id", "error", "retries", "安装", "invoice", "refund")
_GAUGE = re.compile(r"^(spanwise_store_\w+)(?:\{[^}]*\})? (\S+)$", re.MULTILINE)
_JSON = {"Content-Type": "application/json"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each store of the first part")
    parser.add_argument("--rounds", type=int, default=2, help="stores without and with indexes in the first part")
    parser.add_argument("--minutes", type=float, default=30.0, help="of the second part")
    parser.add_argument("--rate", type=float, help="spans a second of the second part, instead of the first part")
    options = parser.parse_args()
    say(f"load before it began: {os.getloadavg()[0]:.1f}; cores: {os.cpu_count()}")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as folder:
        rate = options.rate or full_rate(Path(folder), options.seconds, options.rounds) / 2
        if options.minutes:
            behind(Path(folder), rate, options.minutes * 60)


def full_rate(folder: Path, seconds: float, rounds: int) -> float:
    """Prints the acknowledged rate without and with indexes. Returns the latter, in spans per second."""
    reached: dict[str, list[float]] = {"without": [], "with": []}
    for number in range(rounds):
        for which, variables in (("without", WITHOUT), ("with", {})):
            with (
                tempfile.TemporaryDirectory(dir=folder) as store,
                RunningService(Path(store) / "data", **variables) as service,
                one_process() as process,
            ):
                sent = process.submit(send_all, service.port, CONNECTIONS, seconds).result()
                reached[which].append(sent.spans / sent.seconds)
                say(f"{number + 1}: {which} indexes {sent.spans / sent.seconds:,.0f} spans/s, {state(service)}")
                if which == "with":
                    say(f"{number + 1}: made up for in {caught_up(service):.1f} s after {sent.seconds:.0f} s of load")
    say(f"with indexes: {mean(reached['with']) / mean(reached['without']):.3f} of the rate without")
    return mean(reached["with"])


def behind(folder: Path, rate: float, seconds: float) -> None:
    """Sends at a steady rate, and prints the index backlog and the latency of text searches every minute."""
    with RunningService(folder / "data") as service, one_process() as process:
        sending = process.submit(send_all, service.port, CONNECTIONS, seconds, rate)
        times: list[float] = []
        searching = threading.Thread(target=search, args=(service.port, sending, times))
        searching.start()
        for minute in count(1):
            ended = wait(sending, WINDOW_SECONDS)
            window, times[:] = times[:], []
            if len(window) > 1:
                say(f"minute {minute}: {state(service)}, {summary(window)}")
            if ended:
                break
        searching.join()
        sent = sending.result()
        found = f"{sent.found} of {sent.asked} found at once"
        say(f"sent {sent.spans / sent.seconds:,.0f} spans/s, {sent.rejections} rejected; {found}")
        say(f"all was indexed {caught_up(service):.1f} s later; {state(service)}")


def one_process() -> ProcessPoolExecutor:
    """Returns a process for the sender, so that it does not delay the searches."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def wait(sending: Future[Sent], seconds: float) -> bool:
    """Waits. Returns True if the sender has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not sending.done():
        time.sleep(0.1)
    return sending.done()


def questions() -> Iterator[object]:
    """Yields an endless series of conditions on texts: words, and new substrings of ids."""
    rng = random.Random(7)
    for number in count():
        value = WORDS[number // 2 % len(WORDS)] if number % 2 else f"{rng.randrange(16**6):06x}"
        yield {"op": "CONTAINS", "key": "text", "value": value}


def search(port: int, sending: Future[Sent], times: list[float]) -> None:
    """Searches for the newest traces with a text until the sender has ended. Appends the seconds of each search."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    for question in questions():
        if sending.done():
            break
        body = json.dumps({"filter": question, "detail": "summary", "limit": 20})
        began = time.perf_counter()
        connection.request("POST", "/traces/search", body, _JSON)
        response = connection.getresponse()
        received = response.read()
        if response.status == 503:
            say(received.decode())
        else:
            assert response.status == 200, received
        times.append(time.perf_counter() - began)
        time.sleep(0.1)


def gauges(service: RunningService) -> dict[str, float]:
    """Returns the figures of the store."""
    return {name: float(value) for name, value in _GAUGE.findall(service.http.get("/metrics").text)}


def state(service: RunningService) -> str:
    """Returns the size of the store, the index backlog and the memory as text."""
    now = gauges(service)
    waiting = ", ".join(f"{now[f'spanwise_store_segments_without_{index}']:.0f} without {index}" for index in WAITING)
    memory = resource_usage(service.process.pid).private / MEBIBYTE
    traces, segments = now["spanwise_store_traces"], now["spanwise_store_segments"]
    return f"{traces:,.0f} traces in {segments:.0f} segments, {waiting}, {memory:.0f} MiB private"


def caught_up(service: RunningService) -> float:
    """Waits until every segment is indexed. Returns the duration, in seconds."""
    began = time.monotonic()
    while any(gauges(service)[f"spanwise_store_segments_without_{index}"] for index in WAITING):
        time.sleep(0.2)
    return time.monotonic() - began


def summary(seconds: list[float]) -> str:
    """Returns the number of searches, their median, p99 and maximum as text."""
    cut = quantiles(seconds, n=100)
    median, p99, longest = (1000 * each for each in (cut[49], cut[98], max(seconds)))
    return f"{len(seconds)} searches p50 {median:.1f} ms, p99 {p99:.1f} ms, longest {longest:.0f} ms"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
