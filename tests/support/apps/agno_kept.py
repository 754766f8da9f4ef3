"""Agno components that keep their runs in its db: `spanwise serve support.apps.agno_kept:service`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agno.db.sqlite import SqliteDb
from agno.workflow import Condition, Loop, Parallel, Router
from agno.workflow import Step as AgnoStep
from agno.workflow import Workflow as AgnoWorkflow
from agno.workflow.types import HumanReview

from spanwise import Service
from support.apps.agno_objects import agno_agent, agno_team, done

if TYPE_CHECKING:
    from agno.workflow.types import StepInput

DB_FILE = Path(os.environ.get("ADAPTED_FOLDER", ".")) / "agno.db"


def always(_step_input: StepInput) -> bool:
    return True


def kept_agents(db: SqliteDb) -> list[Any]:
    return [agno_agent("single", db=db)]


def kept_teams(db: SqliteDb) -> list[Any]:
    return [agno_team("group", db=db)]


def kept_workflows(db: SqliteDb) -> list[Any]:
    """Returns workflows with agents inside compound steps, which keep their sessions in the same db."""

    def step(name: str) -> Any:
        return AgnoStep(name=name, agent=agno_agent(name, db=db))

    def select(_step_input: StepInput) -> Any:
        return [routed]

    routed = step("routed")
    compounds: dict[str, Any] = {
        "condition": Condition(name="if", evaluator=always, steps=[step("met")]),
        "parallel": Parallel(step("left"), step("right"), name="both"),
        "loop": Loop(name="loop", steps=[step("again")], max_iterations=2),
        "router": Router(name="route", selector=select, choices=[routed, step("other")]),
    }
    confirmed = AgnoStep("last", executor=done, human_review=HumanReview(requires_confirmation=True))
    return [
        *(
            AgnoWorkflow(id=name, name=name.title(), db=db, steps=[compound, AgnoStep("last", executor=done)])
            for name, compound in compounds.items()
        ),
        AgnoWorkflow(
            id="confirmed", name="Confirmed", db=db, steps=[Parallel(step("one"), step("two"), name="both"), confirmed]
        ),
    ]


_db = SqliteDb(db_file=str(DB_FILE), id="kept")
service = Service(agents=kept_agents(_db), teams=kept_teams(_db), workflows=kept_workflows(_db))
