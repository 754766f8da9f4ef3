"""The figures of generated questions: beside each engine, beside each kind of engines, and the worst questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.questions import ORDERED, SCANS
from spanwise.bench.rounds import OURS
from spanwise.bench.tables import geometric_mean, median

if TYPE_CHECKING:
    from collections.abc import Collection

    from spanwise.bench.results import Questions

COLUMNS = {"scans": SCANS, "ordered": ORDERED}
TITLES = {"scans": "scan engines", "ordered": "engines with an order or indexes"}
"""The kinds of engines: those of each, and how they are called."""
_WORST = 10
QUICK_MILLISECONDS = 0.3
"""What takes less than that need not be faster than a scan."""


class AskedQuestion(msgspec.Struct, frozen=True):
    """One question: the median of the fastest engine of a kind divided by ours, and both in milliseconds."""

    title: str
    found: int
    ratio: float
    ours_ms: float
    peer: str
    peer_ms: float


class Beside(msgspec.Struct, frozen=True):
    """All questions beside one engine, or beside the fastest of a kind for each question.

    Attributes:
        geometric_mean: of the ratios, how many times as fast we are.
        lowest: the least ratio.
        behind: how many ratios are below one.
        worst: the questions with the least ratios, the least first.
    """

    geometric_mean: float
    lowest: float
    behind: int
    worst: list[AskedQuestion] = []


class QuestionFigures(msgspec.Struct, frozen=True):
    """The figures of all questions.

    Attributes:
        count: how many questions there are.
        runs: how often each was asked of us and of the fastest engines, at least.
        load: the load average of the minute before.
        columns: by the kind of the engines, `scans` or `ordered`.
        engines: by the name of the engine.
        left_out: why an engine takes no part, by its name.
        within_bound: how many take less than a scan at the speed of the memory, or less than 0.3 ms.
        above_bound: those that take longest for what a scan would have to read; `peer_ms` is the scan.
        random_read_ns: the least, the median and the most nanoseconds that a read at a random place of memory took
            before a question; `None` if it was not measured before all of them.
    """

    count: int
    runs: int
    load: float
    columns: dict[str, Beside]
    engines: dict[str, Beside]
    left_out: dict[str, str]
    within_bound: int = 0
    above_bound: list[AskedQuestion] = []
    random_read_ns: tuple[float, float, float] | None = None


def question_figures(questions: Questions) -> QuestionFigures:
    """Returns the figures."""
    known = {name for row in questions.rows for name in row.times}
    bounds = _beside_scan(questions)
    return QuestionFigures(
        count=len(questions.rows),
        runs=min(len(row.times[OURS]) for row in questions.rows),
        load=questions.circumstances.load,
        columns={kind: _beside(questions, names, _WORST) for kind, names in COLUMNS.items() if known & set(names)},
        engines={name: _beside(questions, (name,), 0) for names in COLUMNS.values() for name in names if name in known},
        left_out=questions.left_out,
        within_bound=sum(question.ratio >= 1 for question in bounds),
        above_bound=[question for question in bounds if question.ratio < 1][:_WORST],
        random_read_ns=_random_reads(questions),
    )


def _beside_scan(questions: Questions) -> list[AskedQuestion]:
    """Returns the questions beside what a scan takes at least; those that take longest for it first."""
    speed = questions.memory_bytes_a_second
    bounds = []
    for row in questions.rows if speed else ():
        ours, scan = median(row.times[OURS]), max(row.scan_bytes / speed * 1e3, QUICK_MILLISECONDS)
        bounds.append(AskedQuestion(row.title, row.total, scan / ours, round(ours, 4), "", round(scan, 4)))
    return sorted(bounds, key=lambda question: question.ratio)


def _random_reads(questions: Questions) -> tuple[float, float, float] | None:
    reads = [row.random_read_nanoseconds for row in questions.rows]
    return (min(reads), median(reads), max(reads)) if all(reads) else None


def _beside(questions: Questions, names: Collection[str], worst: int) -> Beside:
    asked = []
    for row in questions.rows:
        known = {name: times for name, times in row.times.items() if name in names}
        # One that was much slower at first was not asked again, and knows the literals of that round only.
        most = max(map(len, known.values()))
        ours = median(row.times[OURS][:most])
        peer_ms, peer = min((median(times), name) for name, times in known.items() if len(times) == most)
        asked.append(AskedQuestion(row.title, row.total, peer_ms / ours, round(ours, 4), peer, round(peer_ms, 4)))
    asked.sort(key=lambda question: question.ratio)
    ratios = [question.ratio for question in asked]
    return Beside(geometric_mean(ratios), ratios[0], sum(value < 1 for value in ratios), asked[:worst])
