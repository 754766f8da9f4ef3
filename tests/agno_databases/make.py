"""Fills a database with agno traces, using the installed agno: `python make.py FILE_OR_URL`.

It is a separate program because an instrumentor patches agno for a whole process.

agno 2.7.2 with openinference-instrumentation-agno 1.0.15 created `traced-by-2.7.2.db` beside this file.
"""

from __future__ import annotations

import contextlib
import sys
from contextvars import copy_context
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.team import Team
from agno.tracing.exporter import DatabaseSpanExporter
from agno.workflow import Step, Workflow
from openinference.instrumentation.agno import AgnoInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from support.apps.scripted_model import ScriptedModel, tool_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agno.db.base import BaseDb
    from agno.models.message import Message


def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"sunny in {city}"


def _with_a_tool(messages: Sequence[Message]) -> object:
    return "It is sunny." if messages[-1].role == "tool" else tool_call("weather", city="Zürich")


def _broken(_messages: Sequence[Message]) -> object:
    raise ValueError("the model is gone")


def _agent(agent_id: str, **options: Any) -> Agent:
    return Agent(id=agent_id, name=agent_id.title(), telemetry=False, **options)


def _run_an_agent() -> None:
    _agent("forecaster", model=ScriptedModel(answer=_with_a_tool), tools=[weather]).run(
        "What is the weather in Zürich?", user_id="ann", session_id="s-1"
    )


def _run_one_that_fails() -> None:
    with contextlib.suppress(Exception):
        _agent("broken", model=ScriptedModel(answer=_broken)).run("Hello", user_id="bob", session_id="s-2")


def _run_a_team() -> None:
    team = Team(id="desk", name="Desk", members=[_agent("writer", model=ScriptedModel())], model=ScriptedModel())
    team.run("Write", user_id="ann", session_id="s-3")


def _run_a_workflow() -> None:
    step = Step(name="write", agent=_agent("author", model=ScriptedModel()))
    Workflow(id="daily", name="Daily", steps=[step]).run("Go", user_id="ann", session_id="s-4")


def fill(db: BaseDb) -> None:
    """Runs an agent with a tool, a failing agent, a team and a workflow, each traced into `db`."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(DatabaseSpanExporter(db=db)))
    instrumentor = AgnoInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        for example in (_run_an_agent, _run_one_that_fails, _run_a_team, _run_a_workflow):
            # A team leaves its span current, but the next run needs its own trace.
            copy_context().run(example)
    finally:
        provider.shutdown()
        instrumentor.uninstrument()


def _database(place: str) -> BaseDb:
    if "://" not in place:
        return SqliteDb(db_file=place)
    postgres = import_module("agno.db.postgres")
    database: BaseDb = postgres.PostgresDb(db_url=place, db_schema="ai")
    return database


if __name__ == "__main__":
    fill(_database(sys.argv[1]))
