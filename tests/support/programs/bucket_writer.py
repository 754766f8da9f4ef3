"""A process that writes traces to a store: `python -m support.programs.bucket_writer URL NUMBER`.

Prints `open` or `rejected`, then `acknowledged TRACE_ID` or `failed ERROR` for each trace, and `done`. Each line on its
standard input requests one more trace. The end of the input closes the store.
"""

from __future__ import annotations

import sys

from spanwise import TraceStore
from spanwise.errors import SpanwiseError, StoreLockedError
from support.clients.otlp import export_request

TRACES = 5


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _ingest(store: TraceStore, trace_id: str) -> None:
    try:
        store.ingest(export_request(trace_id, "00000000000000a1"), "application/json")
    except SpanwiseError as error:
        _print(f"failed {type(error).__name__}")
    else:
        _print(f"acknowledged {trace_id}")


def main(url: str, number: int) -> None:
    try:
        store = TraceStore.open(url)
    except StoreLockedError:
        return _print("rejected")
    _print("open")
    for trace in range(TRACES):
        _ingest(store, f"{number:016x}{trace:016x}")
    _print("done")
    if sys.stdin.readline():
        _ingest(store, f"{number:016x}{TRACES:016x}")
    return store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
