"""How many bytes the spans of a data set take elsewhere: as a Parquet file, and as a table of ClickHouse."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.bench.sizes import clickhouse, parquet

if TYPE_CHECKING:
    from spanwise.bench.data.shape import Shape

MAX_TRACES = 100_000
"""The traces that are written elsewhere at most; what a span takes hardly changes with more of them."""
PARQUET, CLICKHOUSE, WITH_WORDS = "parquet", "clickhouse", "clickhouse with an index of words"


def absent() -> str | None:
    """Returns what is not installed and needed to decode the spans; None if nothing is missing."""
    return None if find_spec("opentelemetry.proto") else "opentelemetry-proto is not installed"


def bytes_a_span(shape: Shape) -> dict[str, float]:
    """Returns the bytes a span takes in each format; ClickHouse's only where chDB is installed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spans.parquet"
        spans = parquet.write(shape, MAX_TRACES, file)
        sizes = {PARQUET: file.stat().st_size}
        if find_spec("chdb"):
            sizes |= {CLICKHOUSE: clickhouse.size_of(file), WITH_WORDS: clickhouse.size_of(file, has_words=True)}
    return {name: size / spans for name, size in sizes.items()}
