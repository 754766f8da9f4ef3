"""A process that writes, flushes, merges, deletes and expires traces until it is killed.

Run as `python -m support.programs.busy_store FOLDER SEED`. Each printed line reports an event: `kept ID` a trace was
acknowledged, `going ID` its deletion has started, `gone ID` its deletion has returned.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time

from spanwise import Filter, TraceStore
from spanwise.errors import UnavailableError
from support.clients.otlp import export_request

OPTIONS = {
    "seal_objects": 5,
    "max_segments": 4,
    "retain_seconds": 100,  # checked every second
    "min_free_bytes": 0,
}
WRITERS = 4
HOUR = 3600 * 10**9


def report(event: str, trace_id: str) -> None:
    os.write(1, f"{event} {trace_id}\n".encode())


def ingest(store: TraceStore, trace_id: str, start: int) -> bool:
    export = json.loads(export_request(trace_id, "00000000000000a1", "00000000000000a2"))
    for resource_spans in export["resourceSpans"]:
        for scope_spans in resource_spans["scopeSpans"]:
            for span in scope_spans["spans"]:
                span["startTimeUnixNano"] = span["endTimeUnixNano"] = str(start)
    try:
        store.ingest(json.dumps(export).encode(), "application/json")
    except UnavailableError:
        return False
    return True


def write(store: TraceStore, rng: random.Random) -> None:
    """Writes traces that stay, traces past their retention, and traces that it deletes again."""
    while True:
        young, old, doomed = (f"{rng.getrandbits(128):032x}" for _ in range(3))
        now = time.time_ns()
        if ingest(store, young, now + 20 * HOUR):
            report("kept", young)
        ingest(store, old, now - HOUR)
        if rng.random() < 0.2 and ingest(store, doomed, now + 20 * HOUR):
            report("going", doomed)
            store.delete(Filter.compile(json.dumps({"op": "EQ", "key": "trace_id", "value": doomed}).encode()))
            report("gone", doomed)


def main() -> None:
    folder, seed = sys.argv[1:]
    store = TraceStore.open(folder, json.dumps(OPTIONS).encode())
    for number in range(WRITERS):
        rng = random.Random(f"{seed}/{number}")
        threading.Thread(target=write, args=(store, rng), daemon=True).start()
    rng = random.Random(seed)
    while True:
        time.sleep(rng.uniform(0.0, 0.3))
        store.compact(purge=rng.random() < 0.3)


if __name__ == "__main__":
    main()
