"""The stages of a benchmark: a module each with a function `run`. Each stage can be run alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spanwise.bench import results
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

    from spanwise.bench.plan import Plan

STAGES = (
    "build",
    "indexes",
    "check",
    "engine",
    "aggregate",
    "facets",
    "texts",
    "spans",
    "attributes",
    "questions",
    "masks",
    "http",
    "ingest",
    "open",
)
"""All stages in order; each needs the store that the first one builds."""
WITHOUT_DOCUMENTS = ("build", "check", "engine", "aggregate", "facets", "questions", "masks", "open")
"""The stages that can run on rows without documents."""


def run(plan: Plan, chosen: Collection[str], *, again: bool) -> None:
    """Runs the chosen stages that have no results yet; with `again` also the others, except `build`.

    Raises:
        ConfigurationError: the store is not built, or a stage needs documents and the data set has none.
        WrongResultError: a result differs from that of DuckDB.
    """
    for stage in STAGES:
        if stage not in chosen:
            continue
        if again and stage != "build":
            setattr(plan.results, stage, None)
        result = getattr(plan.results, stage)
        if result is not None and getattr(result, "is_complete", True):
            plan.log(f"{stage}: already done; use --again to repeat it")
            continue
        if stage != "build" and plan.results.build is None:
            raise ConfigurationError(f"there is no store in `{plan.folder}`; run `--only build` first")
        if plan.shape.documents == "none" and stage not in WITHOUT_DOCUMENTS:
            raise ConfigurationError(f"the stage `{stage}` needs documents, but the data set has none")
        import_module(f"{__name__}.{stage}").run(plan)
        plan.results.command = plan.command
        results.write(plan.folder, plan.results)
