"""A process that never rests: it writes, seals, merges, deletes and forgets by age until it is killed.

Run as `python -m support.programs.busy_store FOLDER SEED`. Each line it prints is a fact that had happened before:
`kept ID` was acknowledged, `gone ID` was deleted; `going ID` says that a deletion has begun.
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
from support.otlp_requests import export_of

OPTIONS = {
    "seal_objects": 5,
    "max_segments": 4,
    "retain_seconds": 100,  # looked after every second
    "min_free_bytes": 0,
}
WRITERS = 4
HOUR = 3600 * 10**9


def say(fact: str, trace_id: str) -> None:
    os.write(1, f"{fact} {trace_id}\n".encode())


def ingest(store: TraceStore, trace_id: str, start: int) -> bool:
    export = json.loads(export_of(trace_id, "00000000000000a1", "00000000000000a2"))
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
    """Writes traces that stay, traces that are too old to stay, and traces that it deletes again."""
    while True:
        young, old, doomed = (f"{rng.getrandbits(128):032x}" for _ in range(3))
        now = time.time_ns()
        if ingest(store, young, now + 20 * HOUR):
            say("kept", young)
        ingest(store, old, now - HOUR)
        if rng.random() < 0.2 and ingest(store, doomed, now + 20 * HOUR):
            say("going", doomed)
            store.delete(Filter.compile(json.dumps({"op": "EQ", "key": "trace_id", "value": doomed}).encode()))
            say("gone", doomed)


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
