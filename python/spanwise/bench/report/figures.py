"""The figures of the JSON file: medians, 99th percentiles and ratios of the measured times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.data.shape import Documents  # msgspec reads the types
from spanwise.bench.machine import Circumstances  # likewise
from spanwise.bench.report.question_figures import QuestionFigures, question_figures
from spanwise.bench.stages import STAGES
from spanwise.bench.stages.http import LIMITS
from spanwise.bench.tables import geometric_mean, median, percentile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.bench.results import Asked, Engines, Pages, QueryTimes, Results

OURS = "spanwise"
_CHOSEN = (
    "trace_id EQ",
    "status EQ ERROR",
    "name CONTAINS",
    "mix",
    "sessions of all",
)


class Figure(msgspec.Struct, frozen=True):
    """Statistics of the times of one query on one engine, in milliseconds."""

    median_ms: float
    p99_ms: float
    runs: int


class Compared(msgspec.Struct, frozen=True, omit_defaults=True):
    """One query on all engines; `ratio` is the median of the fastest peer divided by ours, if there is a peer.

    `scan_ms` is what a scan of all rows takes at least, at the speed of the memory. For a mask `kind` is the type of
    the columns, and `query` what the condition is about.
    """

    title: str
    kind: str
    page: int
    found: int
    engines: dict[str, Figure]
    fastest_peer: str | None
    ratio: float | None
    query: str = ""
    scan_ms: float | None = None


class AskedFigures(msgspec.Struct, frozen=True):
    """One question about contents; `found` is `None` if the engine rejected it, and so are the figures.

    `ratio` is the median of the fastest peer divided by that of the first time that we are asked.
    """

    title: str
    kind: str
    found: int | None
    first: Figure | None
    again: Figure | None
    next_page: Figure | None
    peers: dict[str, Figure]
    ratio: float | None


class Served(msgspec.Struct, frozen=True):
    """One query over HTTP."""

    title: str
    limit: int
    found: int
    answer_bytes: int
    time: Figure


class DataSet(msgspec.Struct, frozen=True, omit_defaults=True):
    """All figures of one data set; stages without results are left out.

    `command` measured the last of them, and `pages` are p50 and p99 of all pages of runs over HTTP together.
    """

    traces: int
    documents: Documents
    seed: int
    stages: dict[str, Circumstances]
    command: str = ""
    store: dict[str, float] = {}
    checked_answers: int = 0
    queries: list[Compared] = []
    geometric_mean: float | None = None
    lowest_ratio: float | None = None
    memory_bytes: dict[str, int] = {}
    aggregations: list[Compared] = []
    facets: list[Compared] = []
    texts: list[AskedFigures] = []
    spans: list[AskedFigures] = []
    attributes: list[AskedFigures] = []
    questions: QuestionFigures | None = None
    masks: list[Compared] = []
    index_bytes: dict[str, int] = {}
    index_seconds: dict[str, float] = {}
    bytes_elsewhere: dict[str, float] = {}
    http: list[Served] = []
    pages: dict[str, float] = {}
    ingest: dict[str, float] = {}
    open: dict[str, float] = {}


def figures(measured: Sequence[Results]) -> list[DataSet]:
    """Returns the figures of every data set."""
    return [_data_set(results) for results in measured]


def largest_compared(data_sets: Sequence[DataSet]) -> DataSet:
    """Returns the largest data set measured with peers, else the largest; of equal ones that with real traces."""

    def rank(found: DataSet) -> tuple[bool, int, bool]:
        return found.geometric_mean is not None, found.traces, found.documents == "real"

    return max(data_sets, key=rank)


def chosen(data_set: DataSet) -> list[Compared]:
    """Returns the queries that the README shows, if there is a peer."""
    return [row for row in data_set.queries if row.title in _CHOSEN and row.fastest_peer and row.ratio]


def figure(times: Sequence[float]) -> Figure:
    """Returns the statistics of some times."""
    return Figure(round(median(times), 4), round(percentile(times, 0.99), 4), len(times))


def compared(row: QueryTimes) -> Compared:
    """Returns the figures of one query."""
    engines = {name: figure(times) for name, times in row.times.items()}
    peers = {name: found.median_ms for name, found in engines.items() if name != OURS}
    fastest = min(peers, key=lambda name: peers[name]) if peers else None
    ratio = peers[fastest] / engines[OURS].median_ms if fastest else None
    return Compared(row.title, row.kind, row.page, row.total, engines, fastest, ratio)


def asked_figures(row: Asked) -> AskedFigures:
    """Returns the figures of one question about contents."""
    peers = {name: figure(times) for name, times in row.peers.items()}
    if row.total is None:
        return AskedFigures(row.title, row.kind, None, None, None, None, peers, None)
    first = figure(row.first)
    fastest = min((found.median_ms for found in peers.values()), default=None)
    ratio = fastest / first.median_ms if fastest is not None else None
    return AskedFigures(row.title, row.kind, row.total, first, figure(row.again), figure(row.next_page), peers, ratio)


def ratios(rows: Sequence[Compared]) -> list[float]:
    """Returns the ratios of the queries that have one."""
    return [row.ratio for row in rows if row.ratio is not None]


def _data_set(results: Results) -> DataSet:
    shape = results.shape
    stages = {name: part.circumstances for name in STAGES if (part := getattr(results, name)) is not None}
    found = DataSet(shape.traces, shape.documents, shape.seed, stages, results.command)
    if results.build:
        built = msgspec.structs.asdict(results.build)
        found = msgspec.structs.replace(found, store={key: built[key] for key in built if key != "circumstances"})
    if results.check:
        found = msgspec.structs.replace(found, checked_answers=sum(results.check.answers.values()))
    if results.engine:
        found = _with_engine(found, results.engine)
    if results.aggregate:
        found = msgspec.structs.replace(found, aggregations=[compared(row) for row in results.aggregate.rows])
    if results.facets:
        found = msgspec.structs.replace(found, facets=[compared(row) for row in results.facets.rows])
    if results.questions:
        found = msgspec.structs.replace(found, questions=question_figures(results.questions))
    if results.masks:
        masks = [msgspec.structs.replace(compared(row), query=row.query) for row in results.masks.rows]
        found = msgspec.structs.replace(found, masks=masks)
    if results.http:
        found = msgspec.structs.replace(found, http=_served(results.http), pages=_pages(results.http))
    return _with_service(_with_contents(found, results), results)


def _with_contents(found: DataSet, results: Results) -> DataSet:
    if results.indexes:
        indexes = results.indexes
        found = msgspec.structs.replace(
            found,
            index_bytes=indexes.bytes,
            index_seconds=indexes.seconds,
            bytes_elsewhere=indexes.elsewhere,
        )
    asked = {"texts": results.texts, "spans": results.spans, "attributes": results.attributes}
    rows = {name: list(map(asked_figures, part.rows)) for name, part in asked.items() if part is not None}
    return msgspec.structs.replace(found, **rows)


def _with_engine(found: DataSet, engine: Engines) -> DataSet:
    speed = engine.memory_bytes_a_second
    rows = [
        msgspec.structs.replace(compared(row), scan_ms=round(row.scan_bytes / speed * 1e3, 4) if speed else None)
        for row in engine.rows
    ]
    known = ratios(rows)
    return msgspec.structs.replace(
        found,
        queries=rows,
        geometric_mean=geometric_mean(known) if known else None,
        lowest_ratio=min(known, default=None),
        memory_bytes=engine.memory,
    )


def _served(pages: Pages) -> list[Served]:
    return [Served(row.title, row.limit, row.total, row.answer_bytes, figure(row.times)) for row in pages.rows]


def _pages(pages: Pages) -> dict[str, float]:
    rows = [row for row in pages.rows if row.limit == LIMITS[0] and not row.title.startswith("sessions")]
    times = [time for row in rows for time in row.times]
    return {"p50_ms": median(times), "p99_ms": percentile(times, 0.99)}


def _with_service(found: DataSet, results: Results) -> DataSet:
    if results.ingest:
        durable, busy = results.ingest.durable, results.ingest.busy
        ingest = {
            "durable_spans_a_second": durable.spans / durable.seconds,
            "durable_seconds": durable.seconds,
            "durable_connections": durable.connections,
            "durable_sent_bytes_a_second": durable.sent_bytes / durable.seconds,
            "durable_written_bytes_a_second": durable.disk_bytes / durable.seconds,
            "durable_refusals": durable.rejections,
            "durable_client_cpu_share": durable.client_cpu_seconds / durable.seconds,
            "disk_megabytes_a_second": durable.disk_megabytes_a_second,
            "search_idle_p50_ms": median(busy.idle),
            "search_idle_p99_ms": percentile(busy.idle, 0.99),
            "search_busy_p50_ms": median(busy.busy),
            "search_busy_p99_ms": percentile(busy.busy, 0.99),
            "search_busy_runs": len(busy.busy),
            "busy_spans_a_second": busy.spans / busy.seconds,
            "asked_at_once": busy.asked,
            "found_at_once": busy.found,
        }
        found = msgspec.structs.replace(found, ingest=ingest)
    if results.open:
        opened: dict[str, float] = {
            "ready_seconds": median(results.open.seconds),
            "empty_ready_seconds": median(results.open.empty_seconds),
            "anonymous_bytes": results.open.anonymous_bytes,
            "file_bytes": results.open.file_bytes,
        }
        later = {name: getattr(results.open, name) for name in ("peak_bytes", "empty_resident_bytes")}
        opened |= {name: value for name, value in later.items() if value}
        found = msgspec.structs.replace(found, open=opened)
    return found
