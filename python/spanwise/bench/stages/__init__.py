"""What is done, in which order? One stage is one file here with a function `run`; each can be done by itself."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spanwise.bench import results
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

    from spanwise.bench.plan import Plan

STAGES = ("build", "check", "engine", "http", "ingest", "open")
"""In their order: each needs the store of the first."""
WITHOUT_DOCUMENTS = ("build", "check", "engine", "open")
"""Those that can be done where there are rows alone."""


def run(plan: Plan, chosen: Collection[str], *, again: bool) -> None:
    """Does the chosen stages that are not done yet; with `again` those that are done too, but for the building.

    Raises:
        ConfigurationError: a stage is chosen that needs the store, which is not built, or documents, if it has none.
        WrongAnswerError: an answer differs from that of DuckDB.
    """
    for stage in STAGES:
        if stage not in chosen:
            continue
        if again and stage != "build":
            setattr(plan.results, stage, None)
        result = getattr(plan.results, stage)
        if result is not None and getattr(result, "is_complete", True):
            plan.say(f"{stage}: done before, `--again` measures anew")
            continue
        if stage != "build" and plan.results.build is None:
            raise ConfigurationError(f"expected a built store in `{plan.folder}`, do `--only build` first")
        if plan.shape.documents == "none" and stage not in WITHOUT_DOCUMENTS:
            raise ConfigurationError(f"expected documents for the stage `{stage}`, got rows without any")
        import_module(f"{__name__}.{stage}").run(plan)
        plan.results.command = plan.command
        results.write(plan.folder, plan.results)
