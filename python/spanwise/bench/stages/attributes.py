"""Times questions about the attributes of spans, on all engines that can answer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.results import Contents
from spanwise.bench.stages.asked import ask

if TYPE_CHECKING:
    from spanwise.bench.plan import Plan


def run(plan: Plan) -> None:
    """Times all questions.

    Raises:
        WrongResultError: an answer differs from that of DuckDB.
    """
    load = machine.load()
    timed = ask(plan, "attributes")
    plan.results.attributes = Contents(timed, machine.circumstances(load))
