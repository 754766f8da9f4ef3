"""The short table in the README, between two markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.report.bars import PEERS
from spanwise.bench.report.figures import OURS, chosen, largest_compared, ratios
from spanwise.bench.report.masks import batch_rows
from spanwise.bench.report.question_figures import TITLES
from spanwise.bench.report.questions import conditions
from spanwise.bench.stages.http import SCATTERED
from spanwise.bench.tables import geometric_mean, megabytes, milliseconds, prose, ratio, table
from spanwise.errors import ConfigurationError
from spanwise.output_file import write_output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from spanwise.bench.report.figures import DataSet

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
    """Returns the table, and a line about the data set and the machine."""
    found = largest_compared(data_sets)
    last = found.stages.get("engine") or next(reversed(found.stages.values()))
    line = (
        f"Medians over {found.traces:,} traces with {found.documents} documents, on {last.cores} cores "
        f"({last.processor}, load {last.load:.1f} before it began); the peers hold the rows in memory. A query is a "
        "page of 20 with the exact total."
    )
    rows = [*_rows(found), *_questions(data_sets, found), *_masks(data_sets), *_opening(data_sets, found)]
    return f"{prose(line)}\n\n{table(['what', 'Spanwise', 'fastest peer', 'faster'], rows)}"


def _size(found: DataSet, described: DataSet) -> str:
    """Returns how many traces a row is about, and their documents if the described data set has others."""
    if found.documents == described.documents:
        return f"{found.traces:,} traces"
    if found.documents == "none":
        return f"{found.traces:,} traces without documents"
    return f"{found.traces:,} traces with {found.documents} documents"


def _questions(data_sets: Sequence[DataSet], described: DataSet) -> Iterator[tuple[str, str, str, str]]:
    """Yields a row for each kind of engines, of the largest data set that was asked most questions, and last."""
    asked = [found for found in data_sets if found.questions]
    largest = max(asked, key=_asked, default=None)
    if largest and (questions := largest.questions):
        for column, beside in questions.columns.items():
            title = (
                f"{questions.count:,} generated questions over {_size(largest, described)} beside {TITLES[column]}, "
                f"geometric mean; the least{conditions(questions)}"
            )
            yield title, "", "", f"{ratio(beside.geometric_mean)}; {ratio(beside.lowest)}"


def _asked(found: DataSet) -> tuple[int, int, str]:
    """Returns how many traces there are, how many questions were asked, and when."""
    return found.traces, found.questions.count if found.questions else 0, found.stages["questions"].when


def _masks(data_sets: Sequence[DataSet]) -> Iterator[tuple[str, str, str, str]]:
    """Yields the row of masks."""
    for found in _last(data_sets, "masks"):
        known = ratios(found.masks)
        behind = sum(value < 1 for value in known)
        title = (
            f"a mask over {batch_rows(found):,} rows of Arrow data beside PyArrow and Polars, geometric mean of "
            f"{len(known)}, slower in {behind}"
        )
        yield title, "", "", ratio(geometric_mean(known))


def _opening(data_sets: Sequence[DataSet], described: DataSet) -> Iterator[tuple[str, str, str, str]]:
    """Yields the rows of the time and the memory that a start takes."""
    for found in _last(data_sets, "open"):
        opened = found.open
        yield f"`spanwise serve` to ready, with {_size(found, described)}", f"{opened['ready_seconds']:.2f} s", "", ""
        yield "private memory then", megabytes(opened["anonymous_bytes"]), "", ""
        if "empty_resident_bytes" in opened:
            yield "private and mapped, with an empty store", megabytes(opened["empty_resident_bytes"]), "", ""


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
    if found.geometric_mean:
        yield f"all {len(found.queries)} queries, geometric mean", "", "", ratio(found.geometric_mean)
    for served in found.http:
        if (served.title, served.limit) in {("match all", 20), (SCATTERED, 100)}:
            title = f"{served.limit} full trees over HTTP" + (", scattered" if served.title == SCATTERED else "")
            yield f"{title} ({served.answer_bytes / 1e3:,.0f} KB)", milliseconds(served.time.median_ms), "", ""
    if found.ingest:
        rate = f"{found.ingest['durable_spans_a_second']:,.0f} spans/s"
        yield f"durable ingest over HTTP, {found.ingest['durable_connections']:.0f} connections", rate, "", ""
