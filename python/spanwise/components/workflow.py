"""A workflow: steps in order. Each step gets the output of the step before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from spanwise.components.adapting import component_or_none
from spanwise.components.base import Kind, Outcome, Pause
from spanwise.components.call import Component, PausedPart
from spanwise.components.callables import call_arguments, ignore_text, invoke, stream, takes_call
from spanwise.components.content import content_type_of, plain, text_of
from spanwise.components.execution import FAILURE, execute_nested
from spanwise.components.result import result_of
from spanwise.errors import ComponentError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.components.call import Call

StepExecutor: TypeAlias = "Component | Callable[..., Any]"
"""The executor of a step: an agent, a team, a nested workflow, or a function of the step's input as text."""


class Step:
    """Runs one executor under a name.

    Attributes:
        type: the type for listings and spans.
        name: its name.
        executor: the component or function that it runs.
    """

    type = "Step"

    def __init__(self, name: str, executor: object) -> None:
        """Creates a step.

        Args:
            name: its name.
            executor: an agent, a team or a workflow, our own or from a supported framework, or a function. A function
                takes the input as text, and optionally the `Call`.

        Raises:
            ConfigurationError: the name is empty, or `executor` cannot be executed.
        """
        self.name = name
        self.executor: StepExecutor = _executor(name, executor)
        self._takes_call = not isinstance(self.executor, Component) and _takes_call(name, self.executor)

    async def run(self, workflow: Workflow, call: Call, progress: StepProgress) -> Outcome:
        """Runs the executor with the message of `call`."""
        executor = self.executor
        if not isinstance(executor, Component):
            arguments = call_arguments(self._takes_call, call.message, call)
            return await stream(executor, ignore_text, *arguments)
        inner = call.nested(workflow, step_name=self.name, step_id=progress.step_id, step_index=progress.index)
        if progress.paused is not None:
            inner = inner.resumed(call.answers, progress.paused["run_id"], progress.paused["state"])
        outcome = await execute_nested(executor, inner)
        progress.responses.append(result_of(executor, inner, outcome, outcome.status))
        if outcome.pause is not None:
            outcome.pause = Pause(outcome.pause.requirements, {"run_id": inner.run_id, "state": outcome.pause.state})
        return Outcome(content=outcome.content, pause=outcome.pause)


class Condition:
    """Runs one of two branches.

    Attributes:
        type: the type for listings and spans.
        name: its name.
        then: the steps of the branch for a true condition.
        otherwise: the steps of the other branch.
    """

    type = "Condition"

    def __init__(
        self, name: str, holds: Callable[..., Any], then: Sequence[object], otherwise: Sequence[object] = ()
    ) -> None:
        """Creates a condition.

        Args:
            name: its name.
            holds: a function of the input as text, and optionally of the `Call`.
            then: the steps to run if it returns a true value.
            otherwise: the steps to run if not; without any, the input becomes the output.

        Raises:
            ConfigurationError: the name is empty, `holds` cannot be called, or a part is not a step.
        """
        self.name = name
        self.then = as_steps(then)
        self.otherwise = as_steps(otherwise)
        self._holds = holds
        self._takes_call = _takes_call(name, holds)

    async def run(self, workflow: Workflow, call: Call, progress: StepProgress) -> Outcome:
        """Runs a branch. Evaluates the condition first, unless a pause interrupted a branch."""
        state = progress.paused
        if state is None:
            held = bool(await invoke(self._holds, *call_arguments(self._takes_call, call.message, call)))
        else:
            held = state["held"]
        members = {"step_name": self.name, "step_id": progress.step_id, "step_index": progress.index}
        call.emit(workflow, "ConditionExecutionStarted", condition_result=held, **members)
        branch = self.then if held else self.otherwise
        inner = StepProgress(responses=progress.responses, results=progress.results)
        outcome = await run_steps(branch, workflow, call, inner.restored(state and state["inner"]))
        if outcome.pause is not None:
            outcome.pause = Pause(outcome.pause.requirements, {"held": held, "inner": outcome.pause.state})
        else:
            chosen = "if" if held else "else"
            call.emit(workflow, "ConditionExecutionCompleted", condition_result=held, branch=chosen, **members)
        return outcome


class _UnnamedStep(Step):
    """An executor in a list of steps without a `Step` around it. It gives the step its name."""

    def __init__(self, executor: object) -> None:
        executor = component_or_none(executor) or executor
        if isinstance(executor, Component):
            name = executor.name or executor.id
            self.type = {Kind.AGENT: "Agent", Kind.TEAM: "Team", Kind.WORKFLOW: "Step"}[executor.kind]
        else:
            name = getattr(executor, "__name__", type(executor).__name__)
            self.type = "function"
        super().__init__(name, executor)


@dataclass
class StepProgress:
    """The progress of a list of steps.

    Attributes:
        index: the index of the current step.
        step_id: its id in events; empty before it starts.
        message: its input as text; None for the input of the list.
        paused: the state from which the current step resumes; None if it did not pause.
        results: the results of the completed steps.
        responses: the results of the components that the steps executed.
    """

    index: int = 0
    step_id: str = ""
    message: str | None = None
    paused: Any = None
    results: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)

    def restored(self, state: dict[str, Any] | None) -> StepProgress:
        """Moves to the position of a paused list of steps and returns itself. A `state` of None changes nothing."""
        if state is not None:
            self.index, self.message, self.paused = state["index"], state["message"], state["paused"]
            self.step_id = state["step_id"]
        return self


async def run_steps(
    steps: Sequence[Step | Condition], workflow: Workflow, call: Call, progress: StepProgress
) -> Outcome:
    """Runs steps from `progress` on. Returns the output of the last one, or the first pause."""
    content: Any = call.message if progress.message is None else progress.message
    for index in range(progress.index, len(steps)):
        step, progress.index = steps[index], index
        progress.step_id = progress.step_id or str(uuid4())
        outcome = await _run_step(step, workflow, call.with_message(text_of(content) or ""), progress)
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


async def _run_step(step: Step | Condition, workflow: Workflow, call: Call, progress: StepProgress) -> Outcome:
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
    except Exception:  # the step's own code runs here; its error is passed on, but callers do not see it
        call.emit(workflow, "StepError", error=FAILURE, **members)
        raise
    if outcome.pause is not None:
        call.emit(workflow, "StepPaused", **members)
        outcome.pause = Pause([{**members, **each} for each in outcome.pause.requirements], outcome.pause.state)
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
        kind: `Kind.WORKFLOW`.
        model: None; the steps have models of their own.
        steps: the steps.
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
        """Creates a workflow.

        Args:
            steps: `Step`, `Condition`, functions, agents, teams and workflows, our own or from a supported framework.
            id: its id in URL paths.
            name: its name, for people.
            description: its purpose, for people.
            db: its own database, passed to it as `call.db`.
            store_events: whether the results of its runs include their events.

        Raises:
            ConfigurationError: there is no step, or a part is not a step.
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
        """Initializes every component in it."""
        waiting: list[Step | Condition] = list(self.steps)
        while waiting:
            step = waiting.pop()
            if isinstance(step, Condition):
                waiting += [*step.then, *step.otherwise]
            elif isinstance(step.executor, Component):
                step.executor.initialize()

    def describe(self) -> dict[str, Any]:
        """Returns the member `steps`: name and type of each."""
        return {"steps": [{"name": step.name, "type": step.type} for step in self.steps]}

    def paused_parts(self, state: Any) -> list[PausedPart]:  # noqa: ANN401  # any JSON
        """Returns the executor of the paused step; empty if it is a function."""
        at, steps = state["at"], self.steps
        while isinstance(step := steps[at["index"]], Condition):
            steps = step.then if at["paused"]["held"] else step.otherwise
            at = at["paused"]["inner"]
        if not isinstance(step.executor, Component):
            return []
        return [PausedPart(component=step.executor, state=at["paused"]["state"])]

    async def execute(self, call: Call) -> Outcome:
        """Runs the steps, or resumes the paused step."""
        progress = StepProgress()
        if call.is_continued:
            if not isinstance(call.state, dict):
                raise ComponentError(f"workflow `{self.id}` has no state to resume from")
            progress = StepProgress(results=call.state["results"], responses=call.state["responses"])
            progress.restored(call.state["at"])
        outcome = await run_steps(self.steps, self, call, progress)
        responses, results = progress.responses, progress.results
        if outcome.pause is not None:
            done = [response for response in responses if response["status"] != "PAUSED"]
            state = {"at": outcome.pause.state, "results": results, "responses": done}
            outcome.pause = Pause(outcome.pause.requirements, state)
        outcome.parts = {"step_results": results, "step_executor_runs": responses}
        return outcome


def as_steps(parts: Sequence[object]) -> tuple[Step | Condition, ...]:
    """Returns parts as steps. Any part except `Step` and `Condition` becomes a step with its own name.

    Raises:
        ConfigurationError: a part cannot be executed.
    """
    return tuple(part if isinstance(part, Step | Condition) else _UnnamedStep(part) for part in parts)


def _executor(name: str, found: object) -> StepExecutor:
    component = component_or_none(found)
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
