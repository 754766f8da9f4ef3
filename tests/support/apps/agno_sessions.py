"""Agno objects with session databases of their own: `spanwise serve support.apps.agno_sessions:service`.

`hosted(folder)` creates the same objects for agno's own service.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agno.agent import Agent
from agno.db.sqlite import AsyncSqliteDb, SqliteDb
from agno.run import RunContext  # noqa: TC002  # agno reads the types of a tool
from agno.team import Team
from agno.tools import tool
from agno.workflow import Step, Workflow
from agno.workflow.types import HumanReview, StepInput, StepOutput
from sqlalchemy import create_engine

from spanwise import Agent as OwnAgent
from spanwise import AgentFactory, Service
from spanwise import Team as OwnTeam
from spanwise.components import Broadcast
from support.apps.scripted_model import ScriptedModel, tool_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agno.models.message import Message

    from spanwise import Call, RequestContext


async def count(run_context: RunContext) -> str:
    """Adds one to `k` and returns the state."""
    state: dict[str, Any] = run_context.session_state or {}
    state["k"] = state.get("k", 0) + 1
    return f"k is {state['k']}"


@tool(requires_confirmation=True)
async def confirmed_count(run_context: RunContext) -> str:
    """Does the same once somebody confirmed it."""
    return await count(run_context)


def answer(messages: Sequence[Message]) -> object:
    """Calls the tool that the message names, or recalls earlier user messages."""
    last = messages[-1]
    text = str(last.content)
    if last.role == "tool":
        return text
    if "recall" in text:
        return f"heard {[str(message.content) for message in messages if message.role == 'user']}"
    if "fail" in text:
        return RuntimeError("the model broke")
    return tool_call("confirmed_count" if "confirm" in text else "count")


def step(step_input: StepInput, run_context: RunContext) -> StepOutput:
    state: dict[str, Any] = run_context.session_state if run_context.session_state is not None else {}
    state["k"] = state.get("k", 0) + 1
    return StepOutput(content=f"{step_input.input}: k is {state['k']}")


def agent(agent_id: str, **options: Any) -> Agent:
    tools: list[Any] = [count, confirmed_count]
    model = ScriptedModel(answer=answer)
    return Agent(id=agent_id, name=agent_id, model=model, tools=tools, add_history_to_context=True, **options)


def hosted(folder: Path) -> dict[str, list[Any]]:
    """Returns agents, teams and workflows over databases in a folder."""
    engine = create_engine(f"sqlite:///{folder / 'agno.db'}", connect_args={"timeout": 1})
    db = SqliteDb(db_engine=engine, id="kept")
    async_db = AsyncSqliteDb(db_file=str(folder / "agno-async.db"), id="kept-async")
    model = ScriptedModel(answer=answer)
    tools: list[Any] = [count, confirmed_count]
    counting: Any = step  # agno's annotation does not allow a function with a second parameter
    asking = Step(name="asked", executor=counting, human_review=HumanReview(requires_confirmation=True))
    return {
        "agents": [agent("counter", db=db), agent("async-counter", db=async_db)],
        "teams": [
            Team(id="tally", name="tally", members=[agent("member")], model=model, tools=tools, db=db),
        ],
        "workflows": [
            Workflow(id="steps", name="steps", steps=[Step(name="count", executor=counting)], db=db),
            Workflow(id="asking", name="asking", steps=[asking], db=db),
        ],
    }


FOLDER = Path(os.environ.get("ADAPTED_FOLDER", "."))
objects = hosted(FOLDER)


def built(_context: RequestContext) -> Agent:
    return agent("built")


def own_count(message: str, call: Call) -> str:
    call.session_state["k"] = call.session_state.get("k", 0) + 1
    return f"{message}: k is {call.session_state['k']}"


service = Service(
    agents=[
        *objects["agents"],
        AgentFactory("built", SqliteDb(db_file=str(FOLDER / "built.db"), id="built"), built),
        OwnAgent(own_count, id="own", name="own"),
    ],
    teams=[
        *objects["teams"],
        OwnTeam([agent("inner", db=SqliteDb(db_file=str(FOLDER / "inner.db"), id="inner"))], Broadcast(), id="outer"),
    ],
    workflows=objects["workflows"],
)
