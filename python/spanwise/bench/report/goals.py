"""The performance goals for ten million traces on two idle cores, and whether they are reached."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from spanwise.bench.report.question_figures import QUICK_MILLISECONDS, TITLES
from spanwise.bench.stages.http import LIMITS, SCATTERED
from spanwise.bench.tables import geometric_mean, megabytes, milliseconds, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanwise.bench.report.figures import Compared, DataSet

_MEAN_RATIO, _MIN_RATIO, _MIN_SESSIONS_RATIO = 50, 5, 20
_DEEP_FACTOR, _DEEP_MILLISECONDS = 1.5, 0.5
_PAGE_P50, _PAGE_P99, _SCATTERED_P50 = 5, 25, 15
_BUSY_FACTOR = 3
_SPANS_A_SECOND = 100_000
_KINDS = {
    "token": ("a word or an id", 50),
    "part": ("a piece of words", 250),
    "rare phrase": ("a phrase of two words, one of them in less than 1 % of the traces", 300),
    "spans": ("conditions on spans", 50),
    "sums": ("conditions on sums over spans", 50),
    "axes": ("order and structure of spans", 150),
    "attributes": ("conditions on attributes", 50),
}
"""What is asked about contents, by the kind of the question, and the milliseconds that it may take the first time."""
_AGAIN = 5
_QUESTION_RATIOS = {"scans": (60, 5), "ordered": (20, 1)}
"""The least geometric mean and the least ratio of generated questions, by the kind of the engines."""
_MASK_RATIO, _TREE_RATIO = 1, 3
_OPEN_SECONDS, _PRIVATE_BYTES = 1, 600e6


class GoalResult(NamedTuple):
    """One goal, and the measured result."""

    what: str
    goal: str
    result: str
    is_reached: bool


def goal_results(found: DataSet) -> list[GoalResult]:
    """Returns all goals that have results."""
    makers: list[Callable[[DataSet], Iterator[GoalResult]]] = [
        _engine,
        _deep,
        _scans,
        _sessions,
        _contents,
        _questions,
        _masks,
        _http,
        _ingest,
        _open,
    ]
    return [goal for make in makers for goal in make(found)]


def _engine(found: DataSet) -> Iterator[GoalResult]:
    known = [(row.ratio, row.title) for row in found.queries if row.ratio is not None]
    if not known:
        return
    mean = geometric_mean([value for value, _ in known])
    yield GoalResult(
        "each query against the fastest peer, geometric mean",
        f"at least {_MEAN_RATIO}x faster",
        ratio(mean),
        mean >= _MEAN_RATIO,
    )
    lowest, title = min(known)
    yield GoalResult(
        "the query that gains least",
        f"at least {_MIN_RATIO}x faster",
        f"{ratio(lowest)}: {title}",
        lowest >= _MIN_RATIO,
    )


def _deep(found: DataSet) -> Iterator[GoalResult]:
    pairs = list(deep_pages(found.queries))
    if not pairs:
        return
    worst = max(pairs, key=lambda pair: _ours(pair[1]) / _allowed(_ours(pair[0])))
    factor = _ours(worst[1]) / _ours(worst[0])
    yield GoalResult(
        f"page {worst[1].page:,} against page 1 of the same filter",
        f"at most {_DEEP_FACTOR}x, or + {_DEEP_MILLISECONDS} ms where page 1 takes less than that",
        f"{factor:.2f}x ({milliseconds(_ours(worst[0]))}, {milliseconds(_ours(worst[1]))}): {worst[0].title}",
        _ours(worst[1]) <= _allowed(_ours(worst[0])),
    )


def deep_pages(rows: list[Compared]) -> Iterator[tuple[Compared, Compared]]:
    """Yields the rows for page 1 and for the deep page, for every query measured at both."""
    first = {row.title: row for row in rows if row.page == 1}
    for row in rows:
        if row.page > 1:
            yield first[row.title.rpartition(", page ")[0]], row


def _allowed(first: float) -> float:
    """Returns the milliseconds that the deep page of a filter may take whose first page takes `first`."""
    return first + _DEEP_MILLISECONDS if first < _DEEP_MILLISECONDS else _DEEP_FACTOR * first


def _ours(row: Compared) -> float:
    return row.engines["spanwise"].median_ms


def _scans(found: DataSet) -> Iterator[GoalResult]:
    bounds = [(_ours(row), max(row.scan_ms, QUICK_MILLISECONDS), row.title) for row in found.queries if row.scan_ms]
    if bounds:
        ours, bound, title = max(bounds, key=lambda row: row[0] / row[1])
        yield GoalResult(
            "the query that takes longest for what a scan would have to read",
            f"less than the scan at the speed of the memory, or {QUICK_MILLISECONDS} ms",
            f"{milliseconds(ours)} for {milliseconds(bound)}: {title}",
            ours <= bound,
        )


def _sessions(found: DataSet) -> Iterator[GoalResult]:
    known = [(row.ratio, row.title) for row in found.queries if row.kind == "sessions" and row.ratio is not None]
    if known:
        lowest, title = min(known)
        yield GoalResult(
            "the sessions query that gains least",
            f"at least {_MIN_SESSIONS_RATIO}x faster",
            f"{ratio(lowest)}: {title}",
            lowest >= _MIN_SESSIONS_RATIO,
        )


def _contents(found: DataSet) -> Iterator[GoalResult]:
    rows = [*found.texts, *found.spans, *found.attributes]
    for kind, (what, most) in _KINDS.items():
        times = [
            (math.inf if row.first is None else row.first.median_ms, row.title) for row in rows if row.kind == kind
        ]
        if times:
            yield _slowest(f"{what}, asked first", most, max(times))
    again = [
        (figure.median_ms, row.title) for row in rows for figure in (row.again, row.next_page) if figure is not None
    ]
    if again:
        yield _slowest("the same question again, or its next page", _AGAIN, max(again))


def _slowest(what: str, most: float, slowest: tuple[float, str]) -> GoalResult:
    """Returns the goal that the median of the slowest question takes at most so many milliseconds."""
    time, title = slowest
    result = "rejected" if math.isinf(time) else milliseconds(time)
    return GoalResult(what, f"p50 at most {most} ms", f"{result}: {title}", time <= most)


def _questions(found: DataSet) -> Iterator[GoalResult]:
    if not found.questions:
        return
    for column, (least_mean, least) in _QUESTION_RATIOS.items():
        beside = found.questions.columns.get(column)
        if beside:
            title = f"generated questions beside {TITLES[column]}"
            mean = beside.geometric_mean
            yield GoalResult(
                f"{title}, geometric mean", f"at least {least_mean}x faster", ratio(mean), mean >= least_mean
            )
            result = f"{ratio(beside.lowest)}: {beside.worst[0].title}"
            yield GoalResult(f"{title}, the one that gains least", f"at least {least}x", result, beside.lowest >= least)


def _masks(found: DataSet) -> Iterator[GoalResult]:
    known = [(row.ratio, f"{row.title}, {row.kind}") for row in found.masks if row.ratio is not None]
    trees = [(value, title) for value, title in known if _is_tree(title)]
    for what, least, rows in (
        ("mask", _MASK_RATIO, known),
        ("mask of a list, or of three conditions", _TREE_RATIO, trees),
    ):
        if rows:
            lowest, title = min(rows)
            yield GoalResult(
                f"the {what} that gains least against PyArrow and Polars",
                f"at least {least}x as fast",
                f"{ratio(lowest)}: {title}; {sum(value >= least for value, _ in rows)} of {len(rows)} reach it",
                lowest >= least,
            )


def _is_tree(title: str) -> bool:
    return any(word in title for word in (" IN ", "AND of", "OR of", "in AND"))


def _http(found: DataSet) -> Iterator[GoalResult]:
    if not found.pages:
        return
    p50, p99 = found.pages["p50_ms"], found.pages["p99_ms"]
    yield GoalResult(
        f"a page of {LIMITS[0]} full trees over HTTP, one client, all queries of runs together",
        f"p50 at most {_PAGE_P50} ms, p99 at most {_PAGE_P99} ms",
        f"p50 {milliseconds(p50)}, p99 {milliseconds(p99)}",
        p50 <= _PAGE_P50 and p99 <= _PAGE_P99,
    )
    (scattered,) = (row for row in found.http if row.title == SCATTERED)
    p50 = scattered.time.median_ms
    yield GoalResult(
        f"{SCATTERED} over HTTP", f"p50 at most {_SCATTERED_P50} ms", f"p50 {milliseconds(p50)}", p50 <= _SCATTERED_P50
    )


def _ingest(found: DataSet) -> Iterator[GoalResult]:
    ingest = found.ingest
    if not ingest:
        return
    idle, under_load = ingest["search_idle_p99_ms"], ingest["search_busy_p99_ms"]
    yield GoalResult(
        f"a search while {ingest['busy_spans_a_second']:,.0f} spans/s come in",
        f"p99 at most {_BUSY_FACTOR}x that at rest",
        f"{under_load / idle:.1f}x ({milliseconds(idle)}, {milliseconds(under_load)})",
        under_load <= _BUSY_FACTOR * idle,
    )
    asked, at_once = ingest["asked_at_once"], ingest["found_at_once"]
    yield GoalResult("new spans are found at once", "all", f"{at_once:.0f} of {asked:.0f}", at_once == asked)
    connections, seconds, rate = (ingest[f"durable_{name}"] for name in ("connections", "seconds", "spans_a_second"))
    yield GoalResult(
        f"durable ingest over HTTP, {connections:.0f} connections, {seconds:.0f} s, client included",
        f"at least {_SPANS_A_SECOND:,} spans/s",
        f"{rate:,.0f} spans/s",
        rate >= _SPANS_A_SECOND,
    )


def _open(found: DataSet) -> Iterator[GoalResult]:
    if found.open:
        seconds, private = found.open["ready_seconds"], found.open["anonymous_bytes"]
        yield GoalResult(
            "open the store", f"at most {_OPEN_SECONDS} s to ready", f"{seconds:.2f} s", seconds <= _OPEN_SECONDS
        )
        yield GoalResult(
            "private memory once it is ready",
            f"at most {megabytes(_PRIVATE_BYTES)} RssAnon",
            megabytes(private),
            private <= _PRIVATE_BYTES,
        )
