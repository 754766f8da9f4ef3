"""The tables of generated questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.questions import NAMES
from spanwise.bench.report.question_figures import COLUMNS, QUICK_MILLISECONDS, TITLES
from spanwise.bench.tables import milliseconds, prose, ratio, table

if TYPE_CHECKING:
    from spanwise.bench.report.question_figures import QuestionFigures

QUIET_LOAD, ENOUGH_RUNS = 0.5, 15
"""A run under more load, or with fewer repetitions, says so."""


def questions_title(found: QuestionFigures) -> str:
    """Returns the heading, with what a reader has to know of the run."""
    return f"{found.count:,} generated questions{conditions(found)}"


def conditions(found: QuestionFigures) -> str:
    """Returns the load if it was not quiet, and the repetitions if they are few, in brackets; else nothing."""
    said = [f"load {found.load:.1f}"] if found.load > QUIET_LOAD else []
    said += [f"{found.runs} repetitions"] if found.runs < ENOUGH_RUNS else []
    return f" ({', '.join(said)})" if said else ""


def questions_section(found: QuestionFigures) -> str:
    """Returns how we stand beside each engine and each kind of them, and the ten worst questions of each kind."""
    parts = [_summary(found)]
    if found.random_read_ns:
        parts.append(_random_reads(*found.random_read_ns))
    if found.left_out:
        reasons = "; ".join(f"{NAMES[name]}: {reason}" for name, reason in found.left_out.items())
        parts.append(prose(f"Not measured beside: {reasons}."))
    for column, beside in found.columns.items():
        head = [f"the worst beside {TITLES[column]}", "found", "Spanwise p50", "fastest p50", "faster"]
        lines = [
            [
                worst.title,
                f"{worst.found:,}",
                milliseconds(worst.ours_ms),
                f"{milliseconds(worst.peer_ms)} ({NAMES[worst.peer]})",
                ratio(worst.ratio),
            ]
            for worst in beside.worst
        ]
        parts.append(table(head, lines))
    if found.within_bound or found.above_bound:
        parts.append(_bound(found))
    return "\n\n".join(parts)


def _random_reads(least: float, middle: float, most: float) -> str:
    """Returns how even the memory was: what looks up a few rows waits for reads at random places."""
    return prose(
        f"A read at a random place of memory took {middle:.0f} ns in the median before a question, {least:.0f} at "
        f"least and {most:.0f} at most."
    )


def _bound(found: QuestionFigures) -> str:
    """Returns how many are within the bound of a scan, and those that are furthest from it."""
    about = prose(
        f"{found.within_bound:,} of {found.count:,} take less than a scan at the speed of the memory, or less than "
        f"{QUICK_MILLISECONDS} ms."
    )
    lines = [
        [row.title, milliseconds(row.ours_ms), milliseconds(row.peer_ms), ratio(1 / row.ratio)]
        for row in found.above_bound
    ]
    head = ["furthest above that", "Spanwise p50", "a scan at least", "times as long"]
    return f"{about}\n\n{table(head, lines)}" if lines else about


def _summary(found: QuestionFigures) -> str:
    """Returns a row for the fastest of each kind in every question, followed by those of its engines."""
    lines = []
    for column, beside in found.columns.items():
        rows = [(f"the fastest of the {TITLES[column]}", beside)]
        rows += [(NAMES[name], found.engines[name]) for name in COLUMNS[column] if name in found.engines]
        lines += [
            [title, ratio(row.geometric_mean), ratio(row.lowest), f"{row.behind:,} of {found.count:,}"]
            for title, row in rows
        ]
    return table(["beside", "geometric mean", "least", "slower than it in"], lines)
