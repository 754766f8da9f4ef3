"""Makes the indexes of documents anew: how long that takes, how large they are, and what spans take elsewhere."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from spanwise.bench import machine, sizes
from spanwise.bench.results import IndexSizes
from spanwise.errors import ConfigurationError
from spanwise.traces import TraceStore

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.bench.plan import Plan

KINDS = ("spans", "texts", "attributes")
_FILES = {"spans": "spans", "texts": "text", "attributes": "attributes"}
"""The file of each kind, in the folder of a segment in the cache."""
_INTERVAL_SECONDS = 0.05


def run(plan: Plan) -> None:
    """Removes what is there, and makes one kind after the other.

    Raises:
        ConfigurationError: an index could not be made.
    """
    load = machine.load()
    for file in _FILES.values():
        for made in plan.store.glob(f"cache/*/{file}"):
            made.unlink()
    seconds = {}
    for number, kind in enumerate(KINDS):
        begun = time.perf_counter()
        open_indexed(plan.store, KINDS[: number + 1]).close()
        seconds[kind] = time.perf_counter() - begun
        plan.log(f"indexes: {kind} of {plan.shape.traces:,} traces made in {seconds[kind]:.1f} s")
    plan.results.indexes = IndexSizes(_sizes(plan.store), seconds, machine.circumstances(load), _elsewhere(plan))


def _elsewhere(plan: Plan) -> dict[str, float]:
    """Returns the bytes that a span takes in other formats; none where they cannot be written here."""
    reason = sizes.absent()
    if reason:
        plan.log(f"indexes: {reason}, so that no other formats are measured")
        return {}
    found = sizes.bytes_a_span(plan.shape)
    plan.log("indexes: bytes a span elsewhere: " + ", ".join(f"{name} {size:.0f}" for name, size in found.items()))
    return found


def complete(plan: Plan) -> None:
    """Makes the indexes of documents that the store lacks, so that no thread makes them beside what is timed.

    Raises:
        ConfigurationError: an index could not be made.
    """
    if plan.shape.documents != "none":
        open_indexed(plan.store).close()


def open_indexed(store: Path, kinds: tuple[str, ...] = KINDS) -> TraceStore:
    """Opens a store, and waits until every segment has the indexes of these kinds. It makes no others.

    Raises:
        ConfigurationError: an index could not be made.
    """
    opened = TraceStore.open(str(store), json.dumps({"indexes": kinds}).encode())
    while True:
        stats = json.loads(opened.stats())
        if not any(stats[f"segments_without_{kind}"] for kind in kinds):
            return opened
        if stats["indexing_fault"]:
            opened.close()
            raise ConfigurationError(f"the indexes of `{store}` cannot be made: {stats['indexing_fault']}")
        time.sleep(_INTERVAL_SECONDS)


def _sizes(store: Path) -> dict[str, int]:
    """Returns the bytes of each kind of file."""
    patterns = {
        "documents": "segments/*/spans.*",
        "rows": "segments/*/traces.parquet",
        "index": "cache/*/index",
        **{kind: f"cache/*/{file}" for kind, file in _FILES.items()},
    }
    return {name: sum(file.stat().st_size for file in store.glob(pattern)) for name, pattern in patterns.items()}
