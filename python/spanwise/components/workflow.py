"""A workflow: steps one after the other, each with what the one before it gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from spanwise.components.adapters import joined
from spanwise.components.base import Component, Kind, Outcome, Pause, plain, text_of
from spanwise.components.call import content_type_of
from spanwise.components.callables import call_arguments, invoke, stream, takes_call, unheard
from spanwise.components.perform import FAILURE, perform_inside, response_of
from spanwise.errors import ComponentError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.components.call import Call

Executor: TypeAlias = "Component | Callable[..., Any]"
"""What a step runs: an agent, a team, a nested workflow, or a function of the text that comes in. One that stands in a
list without a `Step` around it is a step that is named after it."""


class Step:
    """Runs one executor under a name."""

    type = "Step"

    def __init__(self, name: str, executor: object) -> None:
        """Names what is run.

        Raises:
            ConfigurationError: no name, or nothing that can be run.
        """
        self.name = name
        self.executor: Executor = _executor(name, executor)
        self._takes_call = not isinstance(self.executor, Component) and _takes_call(name, self.executor)

    async def run(self, workflow: Workflow, call: Call, progress: Progress) -> Outcome:
        """Runs the executor with the text of `call`."""
        executor = self.executor
        if not isinstance(executor, Component):
            arguments = call_arguments(self._takes_call, call.message, call)
            return await stream(executor, unheard, *arguments)
        inner = call.inside(workflow, step_name=self.name, step_id=progress.step_id, step_index=progress.index)
        if progress.paused is not None:
            inner = inner.going_on(call.answers, progress.paused["run_id"], progress.paused["state"])
        outcome = await perform_inside(executor, inner)
        progress.responses.append(response_of(executor, inner, outcome))
        if outcome.pause is not None:
            outcome.pause = Pause(outcome.pause.requirements, {"run_id": inner.run_id, "state": outcome.pause.state})
        return Outcome(content=outcome.content, pause=outcome.pause)


class Condition:
    """Runs one of two branches."""

    type = "Condition"

    def __init__(
        self, name: str, holds: Callable[..., Any], then: Sequence[object], otherwise: Sequence[object] = ()
    ) -> None:
        """Describes both branches.

        Args:
            name: its name.
            holds: a function of the text that comes in, and of the `Call` if it takes two.
            then: the steps if it returns something true.
            otherwise: the steps if not; none of them passes the text on as it is.

        Raises:
            ConfigurationError: no name, or something that is no step.
        """
        self.name = name
        self.then = as_steps(then)
        self.otherwise = as_steps(otherwise)
        self._holds = holds
        self._takes_call = _takes_call(name, holds)

    async def run(self, workflow: Workflow, call: Call, progress: Progress) -> Outcome:
        """Decides, once, and runs the branch."""
        state = progress.paused
        if state is None:
            held = bool(await invoke(self._holds, *call_arguments(self._takes_call, call.message, call)))
        else:
            held = state["held"]
        members = {"step_name": self.name, "step_id": progress.step_id, "step_index": progress.index}
        call.emit(workflow, "ConditionExecutionStarted", condition_result=held, **members)
        branch = self.then if held else self.otherwise
        inner = Progress(responses=progress.responses, results=progress.results)
        outcome = await run_steps(branch, workflow, call, inner.resumed(state and state["inner"]))
        if outcome.pause is not None:
            outcome.pause = Pause(outcome.pause.requirements, {"held": held, "inner": outcome.pause.state})
        else:
            chosen = "if" if held else "else"
            call.emit(workflow, "ConditionExecutionCompleted", condition_result=held, branch=chosen, **members)
        return outcome


class _Bare(Step):
    """An executor that stands in a list without a `Step` around it."""

    def __init__(self, executor: object) -> None:
        executor = joined(executor) or executor
        if isinstance(executor, Component):
            name = executor.name or executor.id
            self.type = {Kind.AGENT: "Agent", Kind.TEAM: "Team", Kind.WORKFLOW: "Step"}[executor.kind]
        else:
            name = getattr(executor, "__name__", type(executor).__name__)
            self.type = "function"
        super().__init__(name, executor)


@dataclass
class Progress:
    """How far a list of steps got.

    Attributes:
        index: the step that runs.
        step_id: its id in events.
        message: what comes into it; None for what came into the list.
        paused: what the step that paused needs to go on; None if none did.
        results: the outputs of the steps that are done.
        responses: the results of the components that they ran.
    """

    index: int = 0
    step_id: str = ""
    message: str | None = None
    paused: Any = None
    results: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)

    def resumed(self, state: dict[str, Any] | None) -> Progress:
        """Returns itself, where a pause left it."""
        if state is not None:
            self.index, self.message, self.paused = state["index"], state["message"], state["paused"]
            self.step_id = state["step_id"]
        return self


async def run_steps(steps: Sequence[Step | Condition], workflow: Workflow, call: Call, progress: Progress) -> Outcome:
    """Returns what the last step gave, or the pause of the one that paused."""
    content: Any = call.message if progress.message is None else progress.message
    for index in range(progress.index, len(steps)):
        step, progress.index = steps[index], index
        progress.step_id = progress.step_id or str(uuid4())
        outcome = await _run_step(step, workflow, call.asking(text_of(content) or ""), progress)
        if outcome.pause is not None:
            state = {
                "index": index,
                "message": text_of(content) or "",
                "step_id": progress.step_id,
                "paused": outcome.pause.state,
            }
            return Outcome(content=outcome.content, pause=Pause(outcome.pause.requirements, state))
        content, progress.paused, progress.step_id = outcome.content, None, ""
    return Outcome(content=content)


async def _run_step(step: Step | Condition, workflow: Workflow, call: Call, progress: Progress) -> Outcome:
    members: dict[str, Any] = {
        "step_name": step.name,
        "step_index": progress.index,
        "step_id": progress.step_id,
    }
    index, step_id = progress.index, progress.step_id
    call.emit(workflow, "StepContinued" if progress.paused is not None else "StepStarted", **members)
    attributes = {"agno.step.type": step.type, "graph.node.name": step.name}
    try:
        with call.spans.span(f"{step.name}.run", "CHAIN", call.message, attributes) as span:
            outcome = await step.run(workflow, call, progress)
            span.output(outcome.text)
    except Exception:  # whatever the step raised is passed on
        call.emit(workflow, "StepError", error=FAILURE, **members)
        raise
    if outcome.pause is not None:
        call.emit(workflow, "StepPaused", **members)
        return outcome
    result = {
        "content": plain(outcome.content),
        "step_name": step.name,
        "step_id": step_id,
        "step_type": step.type,
        "success": True,
    }
    progress.results.append(result)
    progress.index = index
    content_type = content_type_of(outcome.content)
    call.emit(
        workflow, "StepCompleted", content=outcome.content, content_type=content_type, step_response=result, **members
    )
    return outcome


class Workflow:
    """Runs steps in order.

    Attributes:
        kind: always a workflow.
        model: always None; its steps have theirs.
    """

    kind = Kind.WORKFLOW
    model: str | None = None

    def __init__(  # noqa: PLR0913  # one keyword for each thing a workflow has
        self,
        steps: Sequence[object],
        *,
        id: str = "",  # noqa: A002  # the word that every component uses
        name: str | None = None,
        description: str | None = None,
        db: Any = None,  # noqa: ANN401  # any database object
        store_events: bool = False,
    ) -> None:
        """Describes a workflow.

        Args:
            steps: `Step`, `Condition`, functions, agents, teams and workflows, ours or of a framework there is an
                adapter for, in order.
            id: its handle in URL paths.
            name: its name, for people.
            description: what it is good for.
            db: where it keeps what it remembers.
            store_events: whether the events of its runs are part of their results.

        Raises:
            ConfigurationError: no step, or something that is none.
        """
        self.steps = as_steps(steps)
        if not self.steps:
            raise ConfigurationError(f"workflow `{id}`: expected one step or more")
        self.id = id
        self.name = name
        self.description = description
        self.db = db
        self.store_events = store_events

    def initialize(self) -> None:
        """Prepares every component in it."""
        waiting: list[Step | Condition] = list(self.steps)
        while waiting:
            step = waiting.pop()
            if isinstance(step, Condition):
                waiting += [*step.then, *step.otherwise]
            elif isinstance(step.executor, Component):
                step.executor.initialize()

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows."""
        return {"steps": [{"name": step.name, "type": step.type} for step in self.steps]}

    async def execute(self, call: Call) -> Outcome:
        """Runs the steps, from the one that paused if there is one."""
        progress = Progress()
        if call.is_continued:
            if not isinstance(call.state, dict):
                raise ComponentError(f"workflow `{self.id}` has no state to go on from")
            progress = Progress(results=call.state["results"], responses=call.state["responses"])
            progress.resumed(call.state["at"])
        outcome = await run_steps(self.steps, self, call, progress)
        responses, results = progress.responses, progress.results
        if outcome.pause is not None:
            done = [response for response in responses if response["status"] != "PAUSED"]
            state = {"at": outcome.pause.state, "results": results, "responses": done}
            outcome.pause = Pause(outcome.pause.requirements, state)
        outcome.parts = {"step_results": results, "step_executor_runs": responses}
        return outcome


def as_steps(parts: Sequence[object]) -> tuple[Step | Condition, ...]:
    """Returns the steps that a list of parts stands for.

    Raises:
        ConfigurationError: one of them cannot be run.
    """
    return tuple(part if isinstance(part, Step | Condition) else _Bare(part) for part in parts)


def _executor(name: str, found: object) -> Executor:
    component = joined(found)
    if component is not None:
        return component
    if not callable(found):
        raise ConfigurationError(f"step `{name}`: expected a callable, got `{type(found).__name__}`")
    return found


def _takes_call(name: str, function: Callable[..., Any]) -> bool:
    if not name:
        raise ConfigurationError("expected a name for every step and condition")
    try:
        return takes_call(function, 2)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"step `{name}`: {error}") from error
