"""The adapter for agents of pydantic-ai.

The agents make their own spans. A tool that needs approval or external execution pauses the run if the agent has
`DeferredToolRequests` among its output types. A run starts without message history and without `deps`.

Source: pydantic-ai 2.68, "Deferred Tools" and "Streaming Events".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import (
    AgentRunResultEvent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessagesTypeAdapter,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolDenied,
    ToolReturnPart,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models import Model
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_core import to_jsonable_python

from spanwise.components.adapted import Adapted
from spanwise.components.base import Kind, Outcome, Pause
from spanwise.errors import BadRequestError, ComponentError
from spanwise.traces.recording.proxy_tracer import PROXY_PROVIDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai.messages import ToolCallPart

    from spanwise.components.call import Call, Component

_SETTINGS = InstrumentationSettings(tracer_provider=PROXY_PROVIDER)


def adapt(found: object) -> Component | None:
    """Returns an agent of pydantic-ai as a component; None for anything else."""
    return _PydanticAgent(found) if isinstance(found, AbstractAgent) else None


class _PydanticAgent(Adapted):
    """An agent. Concurrent runs share it, because running does not change it."""

    kind = Kind.AGENT
    is_instrumented = True

    def __init__(self, own: AbstractAgent[Any, Any]) -> None:
        self._own = own
        self.id = (own.name or "").lower().replace(" ", "-").replace("_", "-")
        self.name = own.name
        self.description: str | None = None
        self.db: Any = None
        self.store_events = False
        model = own.model
        self.model = model.model_name if isinstance(model, Model) else model

    def initialize(self) -> None:
        """Does nothing, because the agent needs no preparation."""

    def describe(self) -> dict[str, Any]:
        """Returns the member `model`, if the agent has a model."""
        return {"model": {"name": self.model, "model": self.model}} if self.model else {}

    async def check_answers(self, state: Any, answers: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401  # any JSON
        """Accepts one answer for every tool call that the run waits for."""
        waiting = [*state["approvals"], *state["calls"]]
        answered = [str(_tool_call(answer).get("tool_call_id")) for answer in answers]
        if sorted(answered) != sorted(waiting):
            raise BadRequestError(f"expected one answer for each `tool_call_id` that the run waits for: {waiting}")
        for call_id, answer in zip(answered, answers, strict=True):
            if call_id in state["approvals"] and not isinstance(_decision(answer), bool):
                raise BadRequestError(f"expected `confirmed` of tool call `{call_id}` to be a boolean")
            if call_id in state["calls"] and _result(answer) is None:
                raise BadRequestError(f"expected a `result` of tool call `{call_id}`")

    async def execute(self, call: Call) -> Outcome:
        """Runs the agent, or resumes it with the answers, and emits events for its text and its tools."""
        options: dict[str, Any] = {"capabilities": [Instrumentation(settings=_SETTINGS)]}
        if call.is_continued:
            options["message_history"] = ModelMessagesTypeAdapter.validate_python(call.state["messages"])
            options["deferred_tool_results"] = _tool_results(call.state, call.answers)
        prompt = None if call.is_continued else call.message
        result = None
        async with self._own.run_stream_events(prompt, conversation_id=call.session_id, **options) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    result = event.result
                else:
                    self._emit(event, call)
                    await call.caught_up()
        if result is None:
            raise ComponentError(f"pydantic-ai ended the run of agent `{self.id}` without a result")
        if isinstance(result.output, DeferredToolRequests):
            return _paused(result.output, to_jsonable_python(result.all_messages()))
        call.emit(self, "*ContentCompleted")
        return Outcome(content=to_jsonable_python(result.output))

    def _emit(self, event: object, call: Call) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                if text:
                    call.emit_text(self, text)
            case FunctionToolCallEvent(part=part):
                call.emit(self, "ToolCallStarted", tool=_tool_execution(part))
            case FunctionToolResultEvent(part=ToolReturnPart() as part):
                result = to_jsonable_python(part.content)
                tool = {"tool_call_id": part.tool_call_id, "tool_name": part.tool_name, "result": result}
                call.emit(self, "ToolCallCompleted", tool=tool)
            case FunctionToolResultEvent(part=part):
                tool = {"tool_call_id": part.tool_call_id, "tool_name": part.tool_name, "tool_call_error": True}
                call.emit(self, "ToolCallError", tool=tool, error=to_jsonable_python(part.content))
            case _:
                pass  # the other events are details of the model's writing, and clients have no events for them


def _paused(requests: DeferredToolRequests, messages: list[Any]) -> Outcome:
    approvals = [{**_tool_execution(part), "requires_confirmation": True} for part in requests.approvals]
    calls = [{**_tool_execution(part), "external_execution_required": True} for part in requests.calls]
    tools = [*approvals, *calls]
    state = {
        "messages": messages,
        "approvals": [tool["tool_call_id"] for tool in approvals],
        "calls": [tool["tool_call_id"] for tool in calls],
    }
    pause = Pause([{"id": tool["tool_call_id"], "tool_execution": tool} for tool in tools], state)
    return Outcome(pause=pause, parts={"tools": tools})


def _tool_execution(part: ToolCallPart) -> dict[str, Any]:
    arguments = to_jsonable_python(part.args_as_dict())
    return {"tool_call_id": part.tool_call_id, "tool_name": part.tool_name, "tool_args": arguments}


def _tool_call(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the tool call of an answer. An answer is a tool call, or a requirement that contains one."""
    tool = answer.get("tool_execution", answer)
    return tool if isinstance(tool, dict) else {}


def _decision(answer: Mapping[str, Any]) -> Any:  # noqa: ANN401  # any JSON
    """Returns whether an answer approves its tool call. A requirement's `confirmation` takes precedence."""
    confirmation = answer.get("confirmation")
    return _tool_call(answer).get("confirmed") if confirmation is None else confirmation


def _result(answer: Mapping[str, Any]) -> Any:  # noqa: ANN401  # any JSON
    """Returns the result in an answer. A requirement's `external_execution_result` takes precedence."""
    result = answer.get("external_execution_result")
    return _tool_call(answer).get("result") if result is None else result


def _tool_results(state: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> DeferredToolResults:
    """Returns the results of the tool calls that a run waits for. All must be answered."""
    results = DeferredToolResults()
    for answer in answers:
        tool = _tool_call(answer)
        call_id = tool["tool_call_id"]
        if call_id in state["calls"]:
            results.calls[call_id] = _result(answer)
        elif _decision(answer):
            results.approvals[call_id] = True
        else:
            note = answer.get("confirmation_note", tool.get("confirmation_note"))
            results.approvals[call_id] = ToolDenied(note) if note else ToolDenied()
    return results
