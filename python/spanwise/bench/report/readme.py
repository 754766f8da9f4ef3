"""The short table in the README, between two markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.report.figures import OURS, chosen, largest_compared
from spanwise.bench.tables import milliseconds, prose, ratio, table
from spanwise.errors import ConfigurationError
from spanwise.output_file import write_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from spanwise.bench.report.figures import DataSet

PEERS = {
    "chdb": "chDB",
    "datafusion": "DataFusion",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "tantivy": "Tantivy",
}
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"


def rewrite(readme: Path, data_sets: Sequence[DataSet]) -> None:
    """Rewrites the region with the results for the largest data set that was measured with peers.

    Raises:
        ConfigurationError: the file has no such region.
    """
    text = readme.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ConfigurationError(f"expected a region between `{BEGIN}` and `{END}` in `{readme}`")
    write_output(readme, f"{before}{BEGIN}\n{short_table(data_sets)}\n{END}{after}".encode())


def short_table(data_sets: Sequence[DataSet]) -> str:
    """Returns the table, slowest kind of question first, and a line about the data set and the machine."""
    found = largest_compared(data_sets)
    last = found.stages.get("engine") or next(reversed(found.stages.values()))
    line = (
        f"Medians over {found.traces:,} traces with {found.documents} documents on {last.cores} cores. "
        "A query returns a page of 20 and the exact total; the peers hold the rows in memory."
    )
    rows = [*_slowest_phrase(data_sets, found), *_rows(found), *_opening(data_sets, found)]
    return f"{prose(line)}\n\n{table(['query', 'Spanwise', 'fastest peer', 'ratio'], rows)}"


def _slowest_phrase(data_sets: Sequence[DataSet], described: DataSet) -> Iterator[tuple[str, str, str, str]]:
    """Yields the phrase that takes longest when asked first, with the fastest peer that answered it."""
    for found in _last(data_sets, "texts"):
        phrases = [
            (row.first.median_ms, row) for row in found.texts if "phrase" in row.kind and row.first and row.peers
        ]
        for first_ms, row in sorted(phrases, key=lambda timed: timed[0])[-1:]:
            peer = min(row.peers, key=lambda name: row.peers[name].median_ms)
            theirs = f"{milliseconds(row.peers[peer].median_ms)} ({PEERS[peer]})"
            title = f"phrase {row.title}, {_size(found, described)}"
            yield title, milliseconds(first_ms), theirs, ratio(row.peers[peer].median_ms / first_ms)


def _opening(data_sets: Sequence[DataSet], described: DataSet) -> Iterator[tuple[str, str, str, str]]:
    """Yields the rows of the time and the memory that a start takes."""
    for found in _last(data_sets, "open"):
        opened = found.open
        yield f"`spanwise serve` to ready, with {_size(found, described)}", f"{opened['ready_seconds']:.2f} s", "", ""


def _size(found: DataSet, described: DataSet) -> str:
    """Returns how many traces a row is about, and their documents if the described data set has others."""
    if found.documents == described.documents:
        return f"{found.traces:,} traces"
    if found.documents == "none":
        return f"{found.traces:,} traces without documents"
    return f"{found.traces:,} traces with {found.documents} documents"


def _last(data_sets: Sequence[DataSet], stage: str) -> Sequence[DataSet]:
    """Returns the data set for which a stage ran last, if there is any."""
    ran = [found for found in data_sets if stage in found.stages]
    return [max(ran, key=lambda found: found.stages[stage].when)] if ran else []


def _rows(found: DataSet) -> Iterator[tuple[str, str, str, str]]:
    for row in chosen(found):
        if row.fastest_peer and row.ratio:
            peer = milliseconds(row.engines[row.fastest_peer].median_ms)
            ours = milliseconds(row.engines[OURS].median_ms)
            yield row.title, ours, f"{peer} ({PEERS[row.fastest_peer]})", ratio(row.ratio)
    for served in found.http:
        if (served.title, served.limit) == ("match all", 20):
            title = f"{served.limit} full trees over HTTP ({served.answer_bytes / 1e3:,.0f} KB)"
            yield title, milliseconds(served.time.median_ms), "", ""
    if found.ingest:
        rate = f"{found.ingest['durable_spans_a_second']:,.0f} spans/s"
        yield f"durable ingest over HTTP, {found.ingest['durable_connections']:.0f} connections", rate, "", ""
