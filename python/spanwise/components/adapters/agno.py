"""Agents, teams and workflows of agno, as they are.

agno says itself what happens in a run, what came of it and what it waits for; this module passes that on. The spans
of a run are made by `openinference-instrumentation-agno`. An agno object changes while it runs, so that each run of
a prototype gets a copy, as agno's own service does it.

Source: agno 2.7 to 2.9; compat 4.2 and 4.3.
"""

from __future__ import annotations

import logging
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import msgspec
from agno.agent import Agent
from agno.db.base import AsyncBaseDb, BaseDb
from agno.db.in_memory import InMemoryDb
from agno.run import RunContext
from agno.run.agent import RunOutput
from agno.run.approval import acheck_and_apply_approval_resolution
from agno.run.team import TeamRunOutput
from agno.run.workflow import WorkflowPausedEvent, WorkflowRunOutput
from agno.session.workflow import WorkflowSession
from agno.team import Team
from agno.workflow import Workflow
from openinference.instrumentation.agno import AgnoInstrumentor

from spanwise.components.adapters.agno_answers import answered_run, answered_steps, waits_for_approval
from spanwise.components.adapters.agno_steps import off_the_loop
from spanwise.components.adapters.base import Adapted, described
from spanwise.components.base import Kind, Outcome, Pause, Told
from spanwise.components.call import requirements_name
from spanwise.errors import BadRequestError, ComponentError, ConfigurationError, ForbiddenError
from spanwise.traces.recording.proxy_tracer import PROXY_PROVIDER

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from agno.workflow.types import StepRequirement

    from spanwise.components.base import Component
    from spanwise.components.call import Call

_log = logging.getLogger(__name__)
Answers: TypeAlias = "Sequence[Mapping[str, Any]]"
_ENDINGS = {"Completed": "COMPLETED", "Paused": "PAUSED", "Error": "ERROR", "Cancelled": "CANCELLED"}
_STREAMED: dict[str, Any] = {"stream": True, "stream_events": True}
_INJECTED = {"current_user_id", "current_session_id", "current_run_id"}
"""What agno puts into a session's state for the time of a run."""


def adapt(found: object) -> Component | None:
    """Returns an object of agno as a component; None if it is none that can be run here."""
    for kind, adapter in ((Agent, _AgnoAgent), (Team, _AgnoTeam), (Workflow, _AgnoWorkflow)):
        if isinstance(found, kind):
            return adapter(found)
    return None


class _Agno(Adapted):
    """What agno's three kinds have in common. What is set here reaches the object when it is initialized."""

    tells = True
    prefix: ClassVar[str]

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
        """Gives the object its id and db, and lets it initialize itself.

        Raises:
            ConfigurationError: the db is none of agno's.
        """
        if self.db is not None and not isinstance(self.db, BaseDb | AsyncBaseDb):
            shown = f"{type(self.db).__module__}.{type(self.db).__qualname__}"
            raise ConfigurationError(f"{self.kind} `{self.id}` is of agno: expected a db of agno, got `{shown}`")
        self._own.id, self._own.db, self._own.store_events = self.id, self.db, self.store_events
        getattr(self._own, f"initialize_{self.kind}")()
        self.makes_spans = _instrumented()

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows."""
        return _model_of(self._own)

    async def execute(self, call: Call) -> Outcome:
        """Runs a copy of the object, or goes on with it, and passes its events on; the last one is kept."""
        own = self._own.deep_copy() if self.is_shared else self._own
        output: Any = None
        ending: tuple[str, dict[str, Any]] | None = None
        async with aclosing(self._events(own, call)) as events:
            async for event in events:
                if isinstance(event, RunOutput | TeamRunOutput | WorkflowRunOutput):
                    output = event if event.run_id == call.run_id else output
                    continue
                said = _plain(event.to_dict())
                status = self._status_of(said, call)
                if status is None:
                    call.pass_on(said)
                    await call.caught_up()
                elif ending is None or ending[0] == "COMPLETED":
                    ending = (status, said)
        if ending is None:
            raise ComponentError(f"agno ended the run of {self.kind} `{self.id}` without saying how")
        return self._outcome(*ending, None if output is None else _plain(output.to_dict()))

    def _status_of(self, said: Mapping[str, Any], call: Call) -> str | None:
        """Returns how a run ended, if this event says that the run of `call` did."""
        if said.get("run_id") != call.run_id:
            return None
        return _ENDINGS.get(said["event"].removeprefix(self.prefix)) if said["event"].startswith(self.prefix) else None

    def _outcome(self, status: str, event: dict[str, Any], result: dict[str, Any] | None) -> Outcome:
        members = {"created_at", "event", "nested_depth", "reason", "error"}
        found = {name: value for name, value in (event if result is None else result).items() if name not in members}
        found.pop("events", None)  # they are kept by the service
        failure = event.get("error") or event.get("content") or event.get("reason") or status
        content = found.get("content", event.get("error"))
        told = Told(
            status=status,
            event=event,
            result={**found, "content": content},
            failure=None if status in _DONE else str(failure),
        )
        pause = self._pause(event, result or {}) if status == "PAUSED" else None
        return Outcome(content=content, pause=pause, told=told)

    def _pause(self, event: Mapping[str, Any], result: Mapping[str, Any]) -> Pause:
        name = requirements_name(self.kind)
        asked = event.get(name) or result.get(name) or event.get("tools") or [{}]
        pause = Pause(asked, {"output": result})
        pause.requirements = asked  # as agno reads them again
        return pause

    def _events(self, own: Any, call: Call) -> AsyncGenerator[Any, None]:  # noqa: ANN401  # as above
        raise NotImplementedError


class _Conversing(_Agno):
    """What agents and teams have in common."""

    async def _events(self, own: Any, call: Call) -> AsyncGenerator[Any, None]:  # noqa: ANN401  # as above
        asked: dict[str, Any] = {**_STREAMED, **_given(call), "yield_run_output": True, "user_id": call.user_id}
        if call.is_continued:
            paused, answered = self._continuation(call.state, call.answers)
            if waits_for_approval(call.state["output"]):
                await _approve(paused, own.db)
            if own.db is None:
                context = RunContext(call.run_id, call.session_id, call.user_id, session_state=dict(call.session_state))
                answered["run_context"] = context
            events = own.acontinue_run(run_response=paused, **answered, **asked)
        else:
            place = {"run_id": call.run_id, "session_id": call.session_id}
            events = own.arun(call.message, session_state=_state_for(own, call), **place, **asked)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, RunOutput | TeamRunOutput) and event.run_id == call.run_id:
                    _take_over(event.session_state, call)
                yield event

    async def check_answers(self, state: Any, answers: Answers) -> None:  # noqa: ANN401  # any JSON
        """Accepts what `_continuation` can read, if nobody else has to approve it."""
        try:
            paused, _ = self._continuation(state, answers)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise BadRequestError(f"expected answers as agno has them: {error}") from error
        if waits_for_approval(state["output"]):
            await _approve(paused, self.db)

    def _continuation(self, state: Any, answers: Answers) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401  # any JSON
        raise NotImplementedError


class _AgnoAgent(_Conversing):
    kind = Kind.AGENT
    prefix = "Run"

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows."""
        return _agent_shown(self._own)

    def _continuation(self, state: Any, answers: Answers) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401  # any JSON
        """Returns the run that paused, with the answers in it."""
        return RunOutput.from_dict(answered_run(state["output"], answers)), {}


class _AgnoTeam(_Conversing):
    kind = Kind.TEAM
    prefix = "TeamRun"

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows."""
        return _team_shown(self._own)

    def _continuation(self, state: Any, answers: Answers) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401  # any JSON
        """Returns the run that paused, and the requirements with their answers."""
        paused = TeamRunOutput.from_dict(answered_run(state["output"], answers))
        return paused, {"requirements": paused.requirements if answers else None}


class _AgnoWorkflow(_Agno):
    kind = Kind.WORKFLOW
    prefix = "Workflow"

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows."""
        steps = self._own.steps if isinstance(self._own.steps, list) else []
        named = [{"name": _name_of(step), "type": type(step).__name__} for step in steps]
        return {"steps": named, "workflow_agent": getattr(self._own, "agent", None) is not None}

    def makes_root(self, call: Call) -> bool:
        """Returns whether the instrumentor makes the root: it knows nothing of a workflow that goes on."""
        return self.makes_spans and not call.is_continued

    async def _events(self, own: Any, call: Call) -> AsyncGenerator[Any, None]:  # noqa: ANN401  # as above
        state, has_db = _state_for(own, call), own.db is not None
        off_the_loop(own)
        if not has_db:
            # agno's workflows cannot go on without one; this one lasts as long as the run
            own.db = InMemoryDb()  # type: ignore[no-untyped-call]
        if call.is_continued:
            paused, requirements = self._continuation(call.state, call.answers)
            if not has_db:
                session = WorkflowSession(call.session_id, workflow_id=self.id, user_id=call.user_id, runs=[paused])
                session.session_data = {"session_state": state}
                own.db.upsert_session(session)
            events = await own.acontinue_run(run_response=paused, step_requirements=requirements, **_STREAMED)
        else:
            place = {"run_id": call.run_id, "session_id": call.session_id, "user_id": call.user_id}
            events = own.arun(call.message, session_state=state, **place, **_given(call), **_STREAMED)
        async with aclosing(events):
            async for event in events:
                yield event
        session = await own.aget_session(session_id=call.session_id)
        if session is None:
            return
        _take_over((session.session_data or {}).get("session_state"), call)
        for output in (run for run in session.runs or () if run.run_id == call.run_id):
            yield output
            if output.is_paused:
                yield _paused_event(output)

    async def check_answers(self, state: Any, answers: Answers) -> None:  # noqa: ANN401  # any JSON
        """Accepts the requirements of steps if the one that the run waits for is among them, resolved."""
        try:
            paused, requirements = self._continuation(state, answers)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise BadRequestError(f"expected step requirements as agno has them: {error}") from error
        active = (requirements or paused.step_requirements or [None])[-1]
        if active is not None and not active.is_resolved:
            raise BadRequestError(f"the requirement of step `{active.step_name}` is not answered")

    @staticmethod
    def _continuation(state: Any, answers: Answers) -> tuple[Any, list[StepRequirement] | None]:  # noqa: ANN401  # JSON
        for asked in state["output"].get("step_requirements") or ():
            if waits_for_approval({"requirements": asked.get("executor_requirements")}):
                raise ForbiddenError(
                    f"step `{asked['step_name']}` waits for an administrator; workflows cannot ask for that"
                )
        paused = WorkflowRunOutput.from_dict(answered_steps(state["output"], answers))
        return paused, paused.step_requirements if answers else None


async def _approve(paused: RunOutput | TeamRunOutput, db: Any) -> None:  # noqa: ANN401  # a db of agno
    """Puts what an administrator decided into a run, whatever its caller answered.

    Raises:
        ForbiddenError: nobody decided yet, or there is no db in which a decision could stand.
    """
    if db is None:
        raise ForbiddenError("the run waits for an administrator, and there is no db in which a decision could stand")
    try:
        await acheck_and_apply_approval_resolution(db, paused.run_id or "", paused)
    except RuntimeError as error:
        raise ForbiddenError(f"the run waits for an administrator: {error}") from error


def _paused_event(output: WorkflowRunOutput) -> WorkflowPausedEvent:
    """Returns the event that agno's own service adds when a workflow pauses."""
    return WorkflowPausedEvent(
        run_id=output.run_id or "",
        workflow_id=output.workflow_id,
        workflow_name=output.workflow_name,
        session_id=output.session_id,
        status="PAUSED",
        paused_step_index=output.paused_step_index,
        paused_step_name=output.paused_step_name,
        pause_kind=output.pause_kind,
        step_requirements=output.step_requirements,
        step_results=output.step_results,
        step_executor_runs=output.step_executor_runs,
        content=output.content,
        metadata=output.metadata,
    )


_DONE = {"COMPLETED", "PAUSED"}


@cache
def _instrumented() -> bool:
    """Returns whether the spans of agno come to us; not if the program instrumented agno before."""
    instrumentor = AgnoInstrumentor()
    if instrumentor.is_instrumented_by_opentelemetry:
        _log.warning("agno was instrumented before: its spans go where that says, and a run is one span here")
        return False
    instrumentor.instrument(tracer_provider=PROXY_PROVIDER)
    return bool(instrumentor.is_instrumented_by_opentelemetry)


def _given(call: Call) -> dict[str, Any]:
    """Returns what a caller gave for this run, as agno takes it; what it did not give, agno looks up itself."""
    given = {"dependencies": dict(call.dependencies), "metadata": dict(call.metadata)}
    return {name: value for name, value in given.items() if value}


def _state_for(own: Any, call: Call) -> dict[str, Any] | None:  # noqa: ANN401  # as above
    """Returns what agno is told of a session's state: all of it, or what its own db cannot know."""
    return dict(call.session_state) if own.db is None else dict(call.given_state) or None


def _take_over(state: Mapping[str, Any] | None, call: Call) -> None:
    """Makes what the session remembers now what the run's session remembers."""
    remembered = {name: value for name, value in _plain(state or {}).items() if name not in _INJECTED}
    call.session_state.clear()
    call.session_state.update(remembered)


def _plain(value: object) -> Any:  # noqa: ANN401  # whatever JSON can hold
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_foreign)


def _foreign(value: object) -> Any:  # noqa: ANN401  # likewise
    """Returns what neither JSON nor msgspec knows: models of pydantic as objects, everything else as text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None else str(value)


def _model_of(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent or a team
    model = own.model
    if model is None or isinstance(model, str):
        return described(model=model and {"model": model})
    return {"model": described(name=model.name, model=model.id, provider=model.provider)}


def _agent_shown(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent
    return {**_model_of(own), **described(role=own.role, introduction=own.introduction, metadata=own.metadata)}


def _team_shown(own: Any) -> dict[str, Any]:  # noqa: ANN401  # a team
    members = own.members if isinstance(own.members, list) else []
    shown = [
        {
            **described(id=member.id, name=member.name, description=member.description),
            **(_team_shown(member) if isinstance(member, Team) else _agent_shown(member)),
        }
        for member in members
        if isinstance(member, Agent | Team)
    ]
    mode = getattr(own.mode, "value", own.mode)
    return {**_model_of(own), **described(role=own.role, mode=mode, members=shown)}


def _name_of(step: object) -> str:
    return str(getattr(step, "name", None) or getattr(step, "__name__", type(step).__name__))
