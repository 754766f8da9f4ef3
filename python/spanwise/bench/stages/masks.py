"""Times masks over one Arrow batch beside PyArrow and Polars, for every operator and every type of column.

The masks of all libraries are compared before anything is timed, and again in every round.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from spanwise.bench import machine
from spanwise.bench.masks.conditions import conditions
from spanwise.bench.masks.layouts import layouts
from spanwise.bench.masks.libraries import Polars, PyArrow, Spanwise, as_arrow, compare
from spanwise.bench.results import Engines, QueryTimes
from spanwise.bench.rounds import OURS, time_in_rounds
from spanwise.bench.tables import median
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.bench.masks import Condition, Layout, Library
    from spanwise.bench.plan import Plan

_LIBRARIES: dict[str, Callable[[pa.RecordBatch], Library]] = {OURS: Spanwise, "pyarrow": PyArrow, "polars": Polars}
_SEED = 0x3A5C
LEAST_PYARROW = 25
"""The first version whose columns Polars 2.1 takes: of those of earlier ones it ends the process."""


def run(plan: Plan) -> None:
    """Times all conditions over all types.

    Raises:
        ConfigurationError: PyArrow is too old.
        WrongResultError: two masks differ.
    """
    if int(pa.__version__.partition(".")[0]) < LEAST_PYARROW:
        raise ConfigurationError(
            f"masks are compared with Polars, which needs PyArrow {LEAST_PYARROW}; this is {pa.__version__}"
        )
    load = machine.load()
    rows = plan.rows()
    timed: list[QueryTimes] = []
    for layout in layouts(rows):
        libraries = {name: make(layout.batch) for name, make in _LIBRARIES.items()}
        rng = np.random.default_rng([plan.shape.seed, _SEED])
        for condition in conditions(rows, layout.family, rng):
            timed.append(_time(plan, layout, condition, libraries))
            medians = ", ".join(f"{name} {median(times):.3f}" for name, times in timed[-1].times.items())
            plan.log(f"masks: {layout.name}: {condition.title}: {timed[-1].total:,} rows, medians in ms: {medians}")
    plan.results.masks = Engines(timed, {}, machine.circumstances(load))


def _time(plan: Plan, layout: Layout, condition: Condition, libraries: dict[str, Library]) -> QueryTimes:
    """Times one condition in all libraries that have such operations; one that has not stands in no column."""
    able = {name: library for name, library in libraries.items() if library.answers(condition)}
    times, mask = time_in_rounds(plan.effort, able, repeat(condition), compare)
    total = as_arrow(mask).true_count
    return QueryTimes(layout.family, condition.title, layout.name, "run", 1, total, times)
