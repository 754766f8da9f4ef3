"""One process that writes to a store until it is told to end: `python -m support.programs.bucket_writer URL NUMBER`.

It says `open` or `refused`, then `acknowledged TRACE_ID` for each trace; on a line of its input it tries one more.
"""

from __future__ import annotations

import sys

from spanwise import TraceStore
from spanwise.errors import SpanwiseError, StoreLockedError
from support.otlp_requests import export_of

TRACES = 5


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _ingest(store: TraceStore, trace_id: str) -> None:
    try:
        store.ingest(export_of(trace_id, "00000000000000a1"), "application/json")
    except SpanwiseError as error:
        _say(f"failed {type(error).__name__}")
    else:
        _say(f"acknowledged {trace_id}")


def main(url: str, number: int) -> None:
    """Opens the store and writes to it."""
    try:
        store = TraceStore.open(url)
    except StoreLockedError:
        return _say("refused")
    _say("open")
    for trace in range(TRACES):
        _ingest(store, f"{number:016x}{trace:016x}")
    _say("done")
    if sys.stdin.readline():
        _ingest(store, f"{number:016x}{TRACES:016x}")
    return store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
