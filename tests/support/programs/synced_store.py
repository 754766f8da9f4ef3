"""A process that ingests into, flushes, deletes from and closes a store, and prints a line after each step.

Run as `python -m support.programs.synced_store FOLDER`.
"""

from __future__ import annotations

import os
import sys

from spanwise import Filter, TraceStore
from support.clients.otlp import export_request


def main() -> None:
    store = TraceStore.open(sys.argv[1])
    os.write(1, b"opened\n")
    for number in range(1, 4):
        store.ingest(export_request(f"{number:032x}", "00000000000000a1"), "application/json")
        os.write(1, b"ingested\n")
    store.flush()
    os.write(1, b"flushed\n")
    store.delete(Filter.compile(b'{"op":"EQ","key":"trace_id","value":"%032x"}' % 1))
    os.write(1, b"deleted\n")
    store.ingest(export_request(f"{4:032x}", "00000000000000a1"), "application/json")
    os.write(1, b"ingested\n")
    store.close()
    os.write(1, b"closed\n")


if __name__ == "__main__":
    main()
