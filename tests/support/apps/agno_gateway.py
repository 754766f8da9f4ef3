"""The objects of the gateway in agno's system tests: `spanwise serve support.apps.agno_gateway:service`.

There, most of them are remote objects of other servers; here, one service hosts all of them. The model is scripted, the
databases are files, and there is no knowledge base.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.team import Team
from agno.workflow import Step, Workflow

from spanwise import AuthorizationConfig, Service
from support.apps.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agno.models.message import Message

FOLDER = Path(os.environ.get("ADAPTED_FOLDER", "."))
NAMES = ("Assistant", "Researcher")
SECRET = os.environ.get("JWT_SECRET_KEY", "")


def answer(messages: Sequence[Message]) -> object:
    """Repeats the last message. A very long story takes a minute, so that it can be cancelled."""
    asked = str(messages[-1].content)
    return tell() if "very long story" in asked else ["You said: ", asked]


async def tell() -> str:
    await asyncio.sleep(60)
    return "the end"


def model(db: SqliteDb) -> ScriptedModel:
    model_id = {"gateway-db": "gpt-4o-mini", "remote-db": "gpt-5-mini"}[db.id]
    return ScriptedModel(id=model_id, name="OpenAIChat", provider="OpenAI", answer=answer)


def calculate(expression: str) -> str:
    """Evaluates an expression."""
    return expression


def agent(agent_id: str, name: str, db: SqliteDb, **options: Any) -> Agent:
    return Agent(id=agent_id, name=name, model=model(db), db=db, markdown=True, **options)


def hosted() -> dict[str, Any]:
    """Returns the agents, teams and workflows."""
    gateway_db, remote_db = (
        SqliteDb(db_file=str(FOLDER / f"{name}.db"), id=name) for name in ("gateway-db", "remote-db")
    )
    local = agent("gateway-agent", "Gateway Agent", gateway_db, description="A local agent on the gateway for testing")
    remote = [agent(f"{name.lower()}-agent", name, remote_db, tools=[calculate]) for name in NAMES]
    further = [agent(f"{name.lower()}-agent-2", name, remote_db) for name in NAMES]
    facts = agent("facts_agent", "Facts", remote_db)
    teams: list[tuple[str, str, SqliteDb, list[Any]]] = [
        ("gateway-team", "Gateway Team", gateway_db, [local]),
        ("research-team", "Research Team", remote_db, remote),
        ("research-team-2", "Research Team", remote_db, further),
    ]
    workflows = [
        ("gateway-workflow", "Gateway Workflow", gateway_db, local),
        ("qa-workflow", "QA Workflow", remote_db, remote[0]),
        ("qa-workflow-2", "QA Workflow", remote_db, further[0]),
    ]
    return {
        "agents": [local, *remote, facts, *further],
        "teams": [
            Team(id=each, name=name, model=model(db), members=members, db=db) for each, name, db, members in teams
        ],
        "workflows": [
            Workflow(id=each, name=name, db=db, steps=[Step(name="Answer", agent=one)])
            for each, name, db, one in workflows
        ],
    }


service = Service(
    **hosted(),
    id="gateway-os",
    name="Gateway",
    authorization=True,
    authorization_config=AuthorizationConfig(verification_keys=[SECRET], algorithm="HS256"),
)
