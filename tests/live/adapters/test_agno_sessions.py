"""agno's own client with a service: configuration and sessions."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from agno.client import AgentOSClient
from agno.db.base import SessionType
from agno.utils.http import aclose_default_clients

from support.services.hosted import run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from support.services.process import RunningService


def call_client(service: RunningService, ask: Callable[[AgentOSClient], Coroutine[Any, Any, Any]]) -> Any:
    async def asking() -> Any:
        try:
            return await ask(AgentOSClient(base_url=service.url))
        finally:
            await aclose_default_clients()

    return asyncio.run(asking())


def test_it_reads_the_configuration(hosted: RunningService) -> None:
    config = call_client(hosted, lambda client: client.aget_config())
    assert (config.os_id, config.os_database, config.databases) == ("spanwise", "runs", ["default", "runs"])
    assert [each.db_id for each in config.session.dbs] == ["runs"]
    assert [each.db_id for each in config.traces.dbs] == ["default"]
    assert [team.id for team in config.teams] == ["route", "broadcast", "built"]
    agents = {agent.id: agent for agent in config.agents}
    assert agents["weather"].model.id == "stub-1"
    assert {each.id: each.is_factory for each in config.workflows}.items() >= {"steps": False, "built": True}.items()

    async def models(client: Any) -> Any:
        return await client.get_models()

    if hasattr(AgentOSClient, "get_models"):  # agno 3 lists models only in the configuration
        assert [model.id for model in call_client(hosted, models)] == ["stub-1"]


def test_it_manages_sessions(hosted: RunningService) -> None:
    before = int(time.time())
    first = run(hosted, "agents/weather", "Lisbon", session_id="s-1", user_id="ann").json()
    team = run(hosted, "teams/route", "a b", session_id="s-2", user_id="ann").json()
    workflow = run(hosted, "workflows/steps", "hello", session_id="s-3", user_id="ann").json()

    async def scenario(client: Any) -> None:
        page = await client.get_sessions(user_id="ann", sort_by="session_name", sort_order="asc")
        assert [(each.session_id, each.session_type) for each in page.data] == [
            ("s-1", "agent"),
            ("s-2", "team"),
            ("s-3", "workflow"),
        ]
        assert page.meta.total_count == 3
        # The session starts with the run. The result is created when the run ends, possibly seconds later.
        assert before <= page.data[0].created_at.timestamp() <= first["created_at"]
        detail = await client.get_session("s-1", session_type=SessionType.AGENT)
        assert [message["role"] for message in detail.chat_history] == ["user", "assistant"]
        assert (await client.get_session("s-2")).team_id == "route"
        assert (await client.get_session("s-3")).workflow_id == "steps"
        for session_id, expected in (("s-1", first), ("s-2", team), ("s-3", workflow)):
            (found,) = await client.get_session_runs(session_id)
            assert (found.run_id, found.status) == (expected["run_id"], "COMPLETED")
            one = await client.get_session_run(session_id, expected["run_id"])
            assert one == found
        assert (await client.rename_session("s-1", "Renamed")).session_name == "Renamed"
        changed = await client.update_session("s-1", metadata={"a": 1}, session_state={"b": 2})
        assert (changed.session_name, changed.metadata, changed.session_state) == ("Renamed", {"a": 1}, {"b": 2})
        made = await client.create_session(SessionType.TEAM, session_name="Made", team_id="route", user_id="eve")
        assert (made.session_name, made.team_id, made.user_id) == ("Made", "route", "eve")
        other = await client.create_session(SessionType.AGENT, agent_id="weather", user_id="eve")
        types = [SessionType.TEAM, SessionType.AGENT]
        await client.delete_sessions([made.session_id, other.session_id], types)
        made = await client.create_session(SessionType.TEAM, team_id="route", user_id="eve")
        await client.delete_session(made.session_id)
        assert (await client.get_sessions(user_id="eve")).data == []

    call_client(hosted, scenario)
