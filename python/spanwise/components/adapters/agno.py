"""The adapter for agents, teams and workflows of agno.

Events, results and requirements are agno's own and are forwarded unchanged. `openinference-instrumentation-agno` makes
the spans. An agno object changes while it runs, so each run gets a copy, as in agno's own service.

Source: agno 2.7.2 to 3.1.10. See docs/reference/api-runs.md#run-results and docs/reference/api-runs.md#run-events.
"""

from __future__ import annotations

import inspect
import logging
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from agno.agent import Agent
from agno.db.base import AsyncBaseDb, BaseDb
from agno.db.in_memory import InMemoryDb
from agno.run import RunContext
from agno.run.agent import RunOutput
from agno.run.approval import acheck_and_apply_approval_resolution
from agno.run.team import TeamRunOutput
from agno.run.workflow import WorkflowRunOutput
from agno.session.workflow import WorkflowSession
from agno.team import Team
from agno.workflow import Workflow
from openinference.instrumentation.agno import AgnoInstrumentor

from spanwise.components.adapted import Adapted
from spanwise.components.adapters.agno_description import describe_agent, describe_team, describe_workflow
from spanwise.components.adapters.agno_endings import ending_event
from spanwise.components.adapters.agno_requirements import (
    needs_approval,
    resolve_requirements,
    resolve_step_requirements,
    unanswered_tools,
)
from spanwise.components.adapters.agno_sessions import SessionInDb
from spanwise.components.adapters.agno_steps import hosted
from spanwise.components.base import Kind, Outcome, Pause, ReportedOutcome
from spanwise.components.events import requirements_member, status_after
from spanwise.errors import BadRequestError, ComponentError, ConfigurationError, ForbiddenError
from spanwise.traces.recording.proxy_tracer import PROXY_PROVIDER

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from agno.workflow.types import StepRequirement

    from spanwise.components.call import Call, Component

_log = logging.getLogger(__name__)
AnswerList: TypeAlias = "Sequence[Mapping[str, Any]]"
"""A caller's answers: tool calls or requirements, as agno's clients send them."""

_EVENT_MEMBERS = {"created_at", "event", "nested_depth", "reason", "error"}
"""The members of an ending event that a result does not have."""
_SUCCESSFUL = {"COMPLETED", "PAUSED"}
_TRANSIENT_STATE = {"current_user_id", "current_session_id", "current_run_id"}
"""The members that agno adds to a session's state during a run."""


def adapt(found: object) -> Component | None:
    """Returns an agent, team or workflow of agno as a component; None for anything else."""
    for kind, adapter in ((Agent, _AgnoAgent), (Team, _AgnoTeam), (Workflow, _AgnoWorkflow)):
        if isinstance(found, kind):
            return adapter(found)
    return None


class _AgnoComponent(Adapted):
    """The base class of the three kinds. `initialize` copies attributes that are set here to agno's object."""

    reports_outcome = True

    def __init__(self, own: Any) -> None:  # noqa: ANN401  # an agent, a team or a workflow
        self._own = own
        self.name: str | None = own.name
        self.id: str = own.id or (own.name or "").lower().replace(" ", "-").replace("_", "-")
        self.description: str | None = own.description
        self.db: Any = own.db
        self.store_events: bool = own.store_events
        model = getattr(own, "model", None)
        self.model: str | None = getattr(model, "id", None)

    def initialize(self) -> None:
        """Sets the id, db and event storage of agno's object, initializes it, and enables the instrumentor.

        Raises:
            ConfigurationError: the db is not an agno database.
        """
        if self.db is not None and not isinstance(self.db, BaseDb | AsyncBaseDb):
            shown = f"{type(self.db).__module__}.{type(self.db).__qualname__}"
            raise ConfigurationError(
                f"{self.kind} `{self.id}` is an agno component: expected an agno db, got `{shown}`"
            )
        self._own.id, self._own.db, self._own.store_events = self.id, self.db, self.store_events
        getattr(self._own, f"initialize_{self.kind}")()
        self.is_instrumented = _instrument()

    async def execute(self, call: Call) -> Outcome:
        """Runs or resumes a copy of agno's object, starting with the state of the session.

        agno streams only if the caller does. Otherwise it has no events, and the last event is made from its run
        output.

        Raises:
            ComponentError: agno ended the run without a status.
        """
        own = self._own.deep_copy() if self.is_shared else self._own
        session = SessionInDb(own, self.kind, call)
        await session.write_state()
        outcome = await self._execute(own, session.call)
        _update_session_state(await session.read_state(), call)  # the run outputs of teams have an older state
        return session.public(outcome)

    async def _execute(self, own: Any, call: Call) -> Outcome:  # noqa: ANN401  # as above
        """Runs or resumes `own` and forwards its events. The outcome reports the last event.

        Raises:
            ComponentError: agno ended the run without a final event.
        """
        output: Any = None
        ending: tuple[str, dict[str, Any]] | None = None
        async with aclosing(self._events(own, call)) as events:
            async for event in events:
                if isinstance(event, RunOutput | TeamRunOutput | WorkflowRunOutput):
                    output = event if event.run_id == call.run_id else output
                    continue
                body = _plain(event.to_dict())
                status = status_after(self.kind, body["event"]) if body.get("run_id") == call.run_id else None
                if status is None:
                    call.forward(body)
                    await call.caught_up()
                elif ending is None or ending[0] == "COMPLETED":
                    ending = (status, body)
        if output is not None and (ending is None or output.is_paused):
            ending = ending_event(output)
        if ending is None:
            raise ComponentError(f"agno ended the run of {self.kind} `{self.id}` without a status")
        return self._outcome(ending[0], _plain(ending[1]), None if output is None else _plain(output.to_dict()))

    def _outcome(self, status: str, event: dict[str, Any], result: dict[str, Any] | None) -> Outcome:
        """Returns the outcome of a run.

        Args:
            status: its status.
            event: its last event, which ended or paused it.
            result: agno's run output, if any.
        """
        source = event if result is None else result
        found = {name: value for name, value in source.items() if name not in _EVENT_MEMBERS}
        found.pop("events", None)  # the service adds them
        failure = event.get("error") or event.get("content") or event.get("reason") or status
        content = found.get("content", event.get("error"))
        reported = ReportedOutcome(
            status=status,
            event=event,
            result={**found, "content": content},
            failure=None if status in _SUCCESSFUL else str(failure),
        )
        pause = self._pause(event, result or {}) if status == "PAUSED" else None
        return Outcome(content=content, pause=pause, reported=reported)

    def _pause(self, event: Mapping[str, Any], result: Mapping[str, Any]) -> Pause:
        name = requirements_member(self.kind)
        requirements = event.get(name) or result.get(name) or event.get("tools") or [{}]
        pause = Pause(requirements, {"output": result})
        pause.requirements = requirements  # without the members that `Pause` adds, so that agno can read them again
        return pause

    def _events(self, own: Any, call: Call) -> AsyncGenerator[Any, None]:  # noqa: ANN401  # as above
        """Runs or resumes `own`. Yields its events and run outputs, and updates the session state of `call`."""
        raise NotImplementedError


class _AgentOrTeam(_AgnoComponent):
    """The base class of agents and teams."""

    async def _events(self, own: Any, call: Call) -> AsyncGenerator[Any, None]:  # noqa: ANN401  # as above
        options = {**_stream_options(call), **_run_options(call), "yield_run_output": True, "user_id": call.user_id}
        if call.is_continued:
            paused, arguments = self._continuation(call.state, call.answers)
            if needs_approval(call.state["output"]):
                await _apply_approval(paused, own.db)
            if own.db is None:
                context = RunContext(call.run_id, call.session_id, call.user_id, session_state=dict(call.session_state))
                arguments["run_context"] = context
            found = own.acontinue_run(run_response=paused, **arguments, **options)
        else:
            ids = {"run_id": call.run_id, "session_id": call.session_id}
            found = own.arun(call.message, session_state=_initial_state(own, call), **ids, **options)
        async with aclosing(_events_of(found)) as events:
            async for event in events:
                if isinstance(event, RunOutput | TeamRunOutput) and event.run_id == call.run_id:
                    _update_session_state(event.session_state, call)
                yield event

    async def check_answers(self, state: Any, answers: AnswerList) -> None:  # noqa: ANN401  # any JSON
        """Accepts an answer for every waiting tool call, unless an administrator has to decide first."""
        try:
            paused, _ = self._continuation(state, answers)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise BadRequestError(f"expected answers in agno's form: {error}") from error
        if needs_approval(state["output"]):
            await _apply_approval(paused, self.db)
        # agno 2 applies a decision to `tools` only, not to the same calls in `requirements`.
        waiting = [*(each.tool_execution for each in paused.requirements or ()), *(paused.tools or ())]
        calls = {call.tool_call_id: call for call in waiting if call is not None}
        unanswered = sorted(set(unanswered_tools(calls.values())))
        if unanswered:
            raise BadRequestError(
                f"the run waits for an answer to every tool call; without one: `{'`, `'.join(unanswered)}`"
            )

    def _continuation(self, state: Any, answers: AnswerList) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401  # any JSON
        """Returns the paused run with its answers, and further arguments to resume it with.

        Raises:
            ValueError: an answer is for a tool call that the run does not wait for.
            TypeError: an answer has the wrong shape; likewise `KeyError` and `AttributeError`.
        """
        raise NotImplementedError


class _AgnoAgent(_AgentOrTeam):
    """An agent."""

    kind = Kind.AGENT

    def describe(self) -> dict[str, Any]:
        """Returns the members for a listing."""
        return describe_agent(self._own)

    def _continuation(self, state: Any, answers: AnswerList) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401  # any JSON
        return RunOutput.from_dict(resolve_requirements(state["output"], answers)), {}


class _AgnoTeam(_AgentOrTeam):
    """A team."""

    kind = Kind.TEAM

    def describe(self) -> dict[str, Any]:
        """Returns the members for a listing."""
        return describe_team(self._own)

    def _continuation(self, state: Any, answers: AnswerList) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401  # any JSON
        paused = TeamRunOutput.from_dict(resolve_requirements(state["output"], answers))
        return paused, {"requirements": paused.requirements if answers else None}


class _AgnoWorkflow(_AgnoComponent):
    """A workflow."""

    kind = Kind.WORKFLOW

    def describe(self) -> dict[str, Any]:
        """Returns the members for a listing."""
        return describe_workflow(self._own)

    def instruments_root(self, call: Call) -> bool:
        """Returns whether the instrumentor makes the root span. It does not when a workflow resumes."""
        return self.is_instrumented and not call.is_continued

    async def _events(self, own: Any, call: Call) -> AsyncGenerator[Any, None]:  # noqa: ANN401  # as above
        state, has_db = _initial_state(own, call), own.db is not None
        hosted(own)
        if not has_db:
            # agno's workflows cannot resume without a database. This one lasts as long as the run.
            own.db = InMemoryDb()  # type: ignore[no-untyped-call]
        if call.is_continued:
            paused, requirements = self._continuation(call.state, call.answers)
            if not has_db:
                session = WorkflowSession(call.session_id, workflow_id=self.id, user_id=call.user_id, runs=[paused])
                session.session_data = {"session_state": state}
                own.db.upsert_session(session)
            options = {"run_response": paused, "step_requirements": requirements, **_stream_options(call)}
            found = await own.acontinue_run(**options)
        else:
            ids = {"run_id": call.run_id, "session_id": call.session_id, "user_id": call.user_id}
            found = own.arun(call.message, session_state=state, **ids, **_run_options(call), **_stream_options(call))
        async with aclosing(_events_of(found)) as events:
            async for event in events:
                yield event
        session = await own.aget_session(session_id=call.session_id)
        if session is None:
            return
        _update_session_state((session.session_data or {}).get("session_state"), call)
        for output in (run for run in session.runs or () if run.run_id == call.run_id):
            yield output

    async def check_answers(self, state: Any, answers: AnswerList) -> None:  # noqa: ANN401  # any JSON
        """Accepts requirements of steps if the waiting one is resolved."""
        try:
            paused, requirements = self._continuation(state, answers)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise BadRequestError(f"expected step requirements in agno's form: {error}") from error
        if paused.active_error_requirements:
            raise BadRequestError(
                f"step `{paused.paused_step_name}` failed; retrying and skipping steps is not supported"
            )
        active = (requirements or paused.step_requirements or [None])[-1]
        if active is not None and not active.is_resolved and not active.is_timed_out:
            raise BadRequestError(f"the requirement of step `{active.step_name}` is not answered")

    @staticmethod
    def _continuation(state: Any, answers: AnswerList) -> tuple[Any, list[StepRequirement] | None]:  # noqa: ANN401  # JSON
        """Returns the paused run with its answers, and its requirements if there are answers.

        Raises:
            ForbiddenError: a step waits for an administrator.
            ValueError: an answer is for a step that the run does not wait for.
            TypeError: an answer has the wrong shape; likewise `KeyError` and `AttributeError`.
        """
        for requirement in state["output"].get("step_requirements") or ():
            if needs_approval({"requirements": requirement.get("executor_requirements")}):
                raise ForbiddenError(
                    f"step `{requirement['step_name']}` waits for an administrator, which workflows do not support"
                )
        paused = WorkflowRunOutput.from_dict(resolve_step_requirements(state["output"], answers))
        return paused, paused.step_requirements if answers else None


async def _apply_approval(paused: RunOutput | TeamRunOutput, db: Any) -> None:  # noqa: ANN401  # a db of agno
    """Applies an administrator's decision to a run, which overrides the caller's answer.

    Args:
        paused: the run; changed in place.
        db: agno's database, which stores the decision.

    Raises:
        ForbiddenError: there is no decision yet, or no database to store one.
    """
    if db is None:
        raise ForbiddenError("the run waits for an administrator, but has no db to store a decision")
    try:
        await acheck_and_apply_approval_resolution(db, paused.run_id or "", paused)
    except RuntimeError as error:
        raise ForbiddenError(f"the run waits for an administrator: {error}") from error


@cache
def _instrument() -> bool:
    """Enables the instrumentor of agno once. Returns whether its spans reach our recordings.

    They do not if the program enabled the instrumentor earlier.
    """
    instrumentor = AgnoInstrumentor()
    if instrumentor.is_instrumented_by_opentelemetry:
        _log.warning("agno was instrumented before: its spans go to that tracer provider, and a run is one span here")
        return False
    instrumentor.instrument(tracer_provider=PROXY_PROVIDER)
    return bool(instrumentor.is_instrumented_by_opentelemetry)


def _stream_options(call: Call) -> dict[str, Any]:
    """Returns agno's arguments for streaming."""
    return {"stream": True, "stream_events": True} if call.stream else {"stream": False}


async def _events_of(found: Any) -> AsyncGenerator[Any, None]:  # noqa: ANN401  # depends on whether agno streams
    """Yields the events of a stream, or the run output of a run without a stream."""
    if not inspect.isasyncgen(found):
        yield await found if inspect.isawaitable(found) else found
        return
    async with aclosing(found):
        async for event in found:
            yield event


def _run_options(call: Call) -> dict[str, Any]:
    """Returns dependencies and metadata as agno's arguments. Omits missing ones, so that agno uses its defaults."""
    given = {"dependencies": dict(call.dependencies), "metadata": dict(call.metadata)}
    return {name: value for name, value in given.items() if value}


def _initial_state(own: Any, call: Call) -> dict[str, Any] | None:  # noqa: ANN401  # as above
    """Returns the initial session state for agno's object. If agno has a database, this is only the caller's part."""
    return dict(call.session_state) if own.db is None else dict(call.given_state) or None


def _update_session_state(state: Mapping[str, Any] | None, call: Call) -> None:
    """Replaces the session state of the call with agno's, without the members that agno adds during a run."""
    persistent = {name: value for name, value in _plain(state or {}).items() if name not in _TRANSIENT_STATE}
    call.session_state.clear()
    call.session_state.update(persistent)


def _plain(value: object) -> Any:  # noqa: ANN401  # any JSON value
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_encode_other)


def _encode_other(value: object) -> Any:  # noqa: ANN401  # likewise
    """Encodes values that msgspec does not support: a pydantic model as a dict, any other value as text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None else str(value)
