"""The total usage of the runs of a session."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def session_metrics(runs: Iterable[object]) -> dict[str, Any]:
    """Returns the tokens and costs of runs under agno's names, without those that are 0.

    Args:
        runs: the member `metrics` of the result of each run, which components report in any shape.
    """
    total: Counter[str] = Counter()
    for metrics in runs:
        for name, value in _counts(metrics):
            total[name] += value
    return {name: value for name, value in total.items() if value}


def _counts(metrics: object) -> Iterator[tuple[str, Any]]:
    """Yields the counts of a run, and of the steps of a workflow."""
    if not isinstance(metrics, dict):
        return
    for name, value in metrics.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (name.endswith("_tokens") or name == "cost"):
            yield name, value
    steps = metrics.get("steps")
    for step in steps.values() if isinstance(steps, dict) else ():
        yield from _counts(step.get("metrics") if isinstance(step, dict) else None)
