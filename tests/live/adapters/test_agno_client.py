"""agno's own client with a service: lists, runs, resumes, continues, cancels and searches."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from agno.client import AgentOSClient
from agno.db.base import SessionType
from agno.os.routers.traces.schemas import TraceSearchGroupBy
from agno.run import RunStatus
from agno.utils.http import aclose_default_clients
from agno.utils.log import logger
from httpx import HTTPStatusError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from support.services.process import RunningService

Talk: TypeAlias = "Callable[[Callable[[AgentOSClient], Coroutine[Any, Any, None]]], None]"
COMPONENTS = [
    ("agent", "ann"),
    ("agent", "keeper"),
    ("agent", "built"),
    ("agent", "helper"),
    ("agent", "upper"),
    ("team", "tim"),
    ("team", "mixed"),
    ("workflow", "flow"),
    ("workflow", "mixed-steps"),
]
AGENTS = {"ann", "keeper", "dependent", "imposter", "built", "helper", "upper"}
PREFIXES = {"agent": "Run", "team": "TeamRun", "workflow": "Workflow"}


@pytest.fixture(scope="module")
def talk(adapted: RunningService) -> Iterator[Talk]:
    """Runs a conversation with the service.

    All calls share one event loop, to which agno's client binds its connections.
    """
    with asyncio.Runner() as runner:
        yield lambda talk: runner.run(talk(AgentOSClient(base_url=adapted.url)))
        runner.run(aclose_default_clients())


@pytest.fixture(autouse=True)
def nothing_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client skips unknown events and only logs a warning."""

    def fail(message: str, *_: object) -> None:
        raise AssertionError(message)

    monkeypatch.setattr(logger, "exception", fail)


@pytest.mark.parametrize(("kind", "component_id"), COMPONENTS)
def test_it_runs_a_component(talk: Talk, kind: str, component_id: str) -> None:
    async def speak(client: AgentOSClient) -> None:
        run = getattr(client, f"run_{kind}")
        result = await run(component_id, "weather", session_id=f"client-{component_id}", user_id="client")
        assert result.status in {RunStatus.completed, "COMPLETED"}
        assert result.content
        assert (result.session_id, result.user_id) == (f"client-{component_id}", "client")
        assert getattr(result, f"{kind}_id") == component_id
        found: Any = await client.search_traces({"op": "EQ", "key": "run_id", "value": result.run_id})
        [trace] = found.data
        assert (trace.trace_id, trace.user_id) == (result.metadata["trace_id"], "client")
        assert trace.tree

    talk(speak)


@pytest.mark.parametrize(("kind", "component_id"), COMPONENTS)
def test_it_resumes_a_run(talk: Talk, kind: str, component_id: str) -> None:
    async def speak(client: AgentOSClient) -> None:
        stream = getattr(client, f"run_{kind}_stream")(component_id, "weather")
        events = [event async for event in stream]
        assert (events[0].event, events[-1].event) == (f"{PREFIXES[kind]}Started", f"{PREFIXES[kind]}Completed")
        assert events[-1].content
        detail: Any = await client.get_trace(events[-1].metadata["trace_id"])
        assert detail.run_id == events[-1].run_id

    talk(speak)


@pytest.mark.parametrize(
    ("kind", "component_id", "answers"),
    [
        ("agent", "ann", "tools"),
        ("agent", "helper", "tools"),
        ("team", "tim", "requirements"),
        ("workflow", "confirmed", "step_requirements"),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_it_continues_a_paused_run(talk: Talk, kind: str, component_id: str, answers: str, is_streamed: bool) -> None:  # noqa: FBT001  # the case
    async def speak(client: AgentOSClient) -> None:
        paused = await getattr(client, f"run_{kind}")(component_id, "refund")
        assert paused.is_paused
        requirements = getattr(paused, answers)
        for one in requirements:
            if answers == "tools":
                one.confirmed = True
            else:
                one.confirm()
        given = (component_id, paused.run_id, requirements)
        if is_streamed:
            stream = getattr(client, f"continue_{kind}_run_stream")(*given, session_id=paused.session_id)
            last = [event async for event in stream][-1]
            assert last.event == f"{PREFIXES[kind]}Completed"
        else:
            last = await getattr(client, f"continue_{kind}_run")(*given, session_id=paused.session_id)
            assert last.status in {RunStatus.completed, "COMPLETED"}
        assert last.run_id == paused.run_id
        assert "refund" in str(last.content)

    talk(speak)


@pytest.mark.parametrize(
    ("kind", "component_id"), [("agent", "ann"), ("agent", "helper"), ("team", "mixed"), ("workflow", "flow")]
)
def test_it_cancels_a_run(talk: Talk, kind: str, component_id: str) -> None:
    async def speak(client: AgentOSClient) -> None:
        async with aclosing(getattr(client, f"run_{kind}_stream")(component_id, "wait")) as events:
            first = await anext(events)
            await getattr(client, f"cancel_{kind}_run")(component_id, first.run_id)
            rest = [event async for event in events]
        assert rest[-1].event == f"{PREFIXES[kind]}Cancelled"

    talk(speak)


def test_a_failure_that_agno_caught_is_a_result(talk: Talk) -> None:
    async def speak(client: AgentOSClient) -> None:
        result = await client.run_agent("ann", "fail")
        assert (result.status, result.content) == (RunStatus.error, "the model broke")
        events = [event async for event in client.run_agent_stream("ann", "fail")]
        assert (events[-1].event, events[-1].content) == ("RunError", "the model broke")
        with pytest.raises(HTTPStatusError, match="404"):
            await client.run_agent("nobody", "hi")

    talk(speak)


def test_it_lists_what_is_hosted(talk: Talk) -> None:
    async def speak(client: AgentOSClient) -> None:
        agents = {agent.id: agent for agent in await client.list_agents()}
        assert agents.keys() == AGENTS
        assert agents["ann"].model is not None
        teams = {team.id: team for team in await client.list_teams()}
        assert (teams["tim"].mode, teams["mixed"].mode) == ("coordinate", "route")
        workflows = {workflow.id: workflow for workflow in await client.list_workflows()}
        assert workflows["built-workflow"].is_factory
        assert (await client.aget_agent("ann")).id == "ann"
        members = (await client.aget_team("tim")).members or []
        assert [member.id for member in members] == ["member"]
        steps = (await client.aget_workflow("flow")).steps or []
        assert [step["name"] for step in steps] == ["ask", "finish"]

    talk(speak)


def test_it_reads_traces_and_sessions_of_traces(talk: Talk) -> None:
    async def speak(client: AgentOSClient) -> None:
        for message in ("weather", "hi"):
            await client.run_agent("ann", message, session_id="read", user_id="reader")
        of_session = {"op": "EQ", "key": "session_id", "value": "read"}
        sessions: Any = await client.search_traces(of_session, group_by=TraceSearchGroupBy.SESSION)
        assert [(each.session_id, each.total_traces) for each in sessions.data] == [("read", 2)]
        listed = await client.get_traces(session_id="read", limit=1)
        assert (listed.meta.total_count, listed.meta.total_pages) == (2, 2)
        detail: Any = await client.get_trace(listed.data[0].trace_id)
        assert (detail.user_id, detail.agent_id) == ("reader", "ann")
        stats = await client.get_trace_session_stats(user_id="reader")
        assert [each.session_id for each in stats.data] == ["read"]
        with pytest.raises(HTTPStatusError, match="400"):
            await client.search_traces({"op": "EQ", "key": "nothing", "value": "x"})

    talk(speak)


def test_it_reads_the_configuration(talk: Talk) -> None:
    async def speak(client: AgentOSClient) -> None:
        config = await client.aget_config()
        assert {agent.id for agent in config.agents} == AGENTS
        assert {team.id for team in config.teams} == {"tim", "built-team", "mixed"}
        assert {workflow.id for workflow in config.workflows} == {
            "flow",
            "confirmed",
            "conditional",
            "choosing",
            "nameless",
            "patient",
            "built-workflow",
            "mixed-steps",
        }
        if hasattr(client, "get_models"):  # agno 3 lists models only in the configuration
            assert "scripted-1" in {model.id for model in await client.get_models()}

    talk(speak)


@pytest.mark.parametrize(("kind", "component_id"), COMPONENTS)
def test_it_reads_chat_history(talk: Talk, kind: str, component_id: str) -> None:
    async def speak(client: AgentOSClient) -> None:
        session_id, session_type = f"said-{component_id}", SessionType(kind)
        result = await getattr(client, f"run_{kind}")(component_id, "weather", session_id=session_id, user_id="said")
        listed = await client.get_sessions(session_type=session_type, component_id=component_id, user_id="said")
        assert [session.session_id for session in listed.data] == [session_id]
        detail: Any = await client.get_session(session_id, session_type=session_type)
        assert detail.session_id == session_id
        runs = await client.get_session_runs(session_id, session_type=session_type)
        assert [(run.run_id, run.content) for run in runs] == [(result.run_id, result.content)]
        one = await client.get_session_run(session_id, result.run_id, session_type=session_type)
        assert one.run_id == result.run_id
        await client.delete_session(session_id)
        with pytest.raises(HTTPStatusError, match="404"):
            await client.get_session(session_id, session_type=session_type)

    talk(speak)
