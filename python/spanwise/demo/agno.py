"""Spans of agents, teams and workflows as agno programs send them (OpenInference)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import msgspec

from spanwise.demo.cast import slug
from spanwise.demo.scene import Failure, TraceIdentity, count_tokens
from spanwise.demo.spans import ERROR, OK, Scope

if TYPE_CHECKING:
    from spanwise.demo.cast import DemoTeam, DemoWorkflow
    from spanwise.demo.scene import DemoRun, Scene, ToolUse
    from spanwise.demo.spans import Attributes, Span, TraceWriter

SCOPE = Scope("openinference.instrumentation.agno", "1.0.15")
_LEADER_MODEL = "gpt-4o"
_DELEGATE = "delegate_task_to_member"
_DELEGATE_DESCRIPTION = "Use this function to delegate a task to the selected team member."
_STEP_TYPES = {"agent": "Step", "function": "function"}


class _ToolCall(NamedTuple):
    """A tool call requested by a model."""

    id: str
    name: str
    arguments: str


class _AgnoMessage(NamedTuple):
    """A message to or from a model."""

    role: str
    content: str = ""
    tool_call_id: str = ""
    """The id of the tool call that returned this message."""
    call: _ToolCall | None = None

    def as_json(self) -> dict[str, object]:
        body: dict[str, object] = {"role": self.role}
        if self.content:
            body["content"] = self.content
        if self.tool_call_id:
            body["tool_call_id"] = self.tool_call_id
        if self.call:
            function = {"arguments": self.call.arguments, "name": self.call.name}
            body["tool_calls"] = [{"id": self.call.id, "function": function, "type": "function"}]
        return body

    def attributes(self, prefix: str) -> Attributes:
        found: Attributes = {f"{prefix}.role": self.role}
        if self.content:
            found[f"{prefix}.content"] = self.content
        if self.tool_call_id:
            found[f"{prefix}.tool_call_id"] = self.tool_call_id
        if self.call:
            call = f"{prefix}.tool_calls.0.tool_call"
            found[f"{call}.id"] = self.call.id
            found[f"{call}.function.name"] = self.call.name
            found[f"{call}.function.arguments"] = self.call.arguments
        return found


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _node(writer: TraceWriter, name: str, parent: Span | None = None) -> Attributes:
    """Returns the attributes that identify a span in agno's execution graph."""
    node: Attributes = {"graph.node.id": f"{writer.rng.getrandbits(64):016x}", "graph.node.name": name}
    if parent and "graph.node.id" in parent.attributes:
        node["graph.node.parent_id"] = parent.attributes["graph.node.id"]
    return node


def _identity(identity: TraceIdentity) -> Attributes:
    named = {"session.id": identity.session_id, "user.id": identity.user_id}
    return {key: value for key, value in named.items() if value is not None}


def _run_id(writer: TraceWriter) -> str:
    return str(UUID(int=writer.rng.getrandbits(128), version=4))


def _span_name(name: str, method: str) -> str:
    return f"{name.replace(' ', '_')}.{method}"


def _write_model_call(
    writer: TraceWriter, parent: Span, model: str, messages: list[_AgnoMessage], answer: _AgnoMessage | Failure
) -> None:
    request = _json({"messages": [message.as_json() for message in messages]})
    attributes: Attributes = {"input.mime_type": "application/json", "input.value": request}
    for index, message in enumerate(messages):
        attributes |= message.attributes(f"llm.input_messages.{index}.message")
    attributes |= {"llm.model_name": model, "llm.provider": "OpenAI", "llm.system": "openai"}
    attributes["openinference.span.kind"] = "LLM"
    span = writer.open(SCOPE, "OpenAIChat.invoke", parent, attributes)
    writer.spend(640, 0.75)
    if isinstance(answer, Failure):
        writer.close(span, ERROR, f"{answer.type}: {answer.message}", answer)
        return
    response = _json([answer.as_json()])
    attributes |= answer.attributes("llm.output_messages.0.message")
    attributes |= {"output.mime_type": "application/json", "output.value": response}
    attributes |= {
        "llm.token_count.prompt": count_tokens(request),
        "llm.token_count.completion": count_tokens(response),
    }
    writer.close(span, OK)


def _tool_attributes(name: str, description: str, arguments: str, result: str) -> Attributes:
    return {
        "input.mime_type": "application/json",
        "input.value": arguments,
        "tool.name": name,
        "tool.description": description,
        "tool.parameters": arguments,
        "output.value": result,
        "output.mime_type": "text/plain",
        "openinference.span.kind": "TOOL",
    }


def _write_tool_call(writer: TraceWriter, parent: Span, use: ToolUse) -> None:
    attributes = _tool_attributes(use.tool.name, use.tool.description, use.arguments, use.result)
    span = writer.open(SCOPE, use.tool.name, parent, attributes)
    writer.spend(90, 1.1)
    if use.failure:
        writer.close(span, ERROR, use.failure.message, use.failure)
    else:
        writer.close(span, OK)


def write_agent(
    writer: TraceWriter, run: DemoRun, identity: TraceIdentity, parent: Span | None = None, *, method: str = "run"
) -> None:
    """Writes the run of an agent: model and tool calls alternately, then the answer."""
    name = run.agent.name
    attributes = _node(writer, name, parent)
    attributes |= {"input.value": run.question, "agent.name": name, "agno.agent.id": slug(name), "agno.agent": name}
    if run.agent.tools:
        attributes["agno.tools"] = run.agent.tools
    span = writer.open(SCOPE, _span_name(name, method), parent, attributes)
    messages = [_AgnoMessage("system", run.instruction), _AgnoMessage("user", run.question)]
    for use in run.uses:
        call = _AgnoMessage("assistant", call=_ToolCall(use.call_id, use.tool.name, use.arguments))
        _write_model_call(writer, span, run.model, messages, call)
        _write_tool_call(writer, span, use)
        messages += [call, _AgnoMessage("tool", use.result, use.call_id)]
    _write_model_call(writer, span, run.model, messages, run.failure or _AgnoMessage("assistant", run.answer))
    _close_run(writer, span, run.outcome, identity, failed=bool(run.failure))


def _close_run(writer: TraceWriter, span: Span, outcome: str, identity: TraceIdentity, *, failed: bool = False) -> None:
    span.attributes |= _identity(identity)
    span.attributes |= {"output.value": outcome, "output.mime_type": "application/json"}
    span.attributes |= {"agno.run.id": _run_id(writer), "openinference.span.kind": "AGENT"}
    writer.close(span, ERROR if failed else OK, "run status: error" if failed else "")


def write_team(writer: TraceWriter, scene: Scene, team: DemoTeam, identity: TraceIdentity, *, method: str) -> None:
    """Writes the run of a team: the model of the leader delegates to each member."""
    attributes = _node(writer, team.name)
    attributes |= {"input.value": scene.question, "agent.name": team.name}
    attributes |= {"agno.team.id": slug(team.name), "agno.team": team.name}
    span = writer.open(SCOPE, _span_name(team.name, method), None, attributes)
    members = ", ".join(team.members)
    messages = [
        _AgnoMessage("system", f"You lead the {team.name}: {members}. {scene.domain.instructions[0]}"),
        _AgnoMessage("user", scene.question),
    ]
    for name in team.members:
        member = scene.domain.agent(name)
        run = scene.run(member, f"{member.role}: {scene.question}", max_uses=3)
        call = _ToolCall(f"call_{writer.rng.getrandbits(48):012x}", _DELEGATE, "")
        call = call._replace(arguments=_json({"member_id": slug(name), "task": run.question}))
        request = _AgnoMessage("assistant", call=call)
        _write_model_call(writer, span, _LEADER_MODEL, messages, request)
        delegation = _tool_attributes(_DELEGATE, _DELEGATE_DESCRIPTION, call.arguments, run.outcome)
        delegating = writer.open(SCOPE, _DELEGATE, span, delegation)
        # As in agno, the run of the member is a sibling of the tool call that delegates to it.
        write_agent(writer, run, identity, span)
        writer.close(delegating, OK)
        messages += [request, _AgnoMessage("tool", run.outcome, call.id)]
    _write_model_call(writer, span, _LEADER_MODEL, messages, _AgnoMessage("assistant", scene.answer))
    _close_run(writer, span, scene.answer, identity)


def write_workflow(
    writer: TraceWriter, scene: Scene, workflow: DemoWorkflow, identity: TraceIdentity, *, method: str
) -> None:
    """Writes the run of a workflow: each step gets the outcome of the previous one."""
    attributes: Attributes = _node(writer, workflow.name) | {
        "input.value": scene.question,
        "agno.workflow.description": workflow.description,
        "agno.workflow.steps_count": len(workflow.steps),
        "agno.workflow.steps": [step.name for step in workflow.steps],
        "agno.workflow.step_types": [_STEP_TYPES[step.kind] for step in workflow.steps],
    }
    attributes |= _identity(identity)
    span = writer.open(SCOPE, _span_name(workflow.name, method), None, attributes)
    text, failure = scene.question, None
    for step in workflow.steps:
        step_attributes = _node(writer, step.name, span) | {"input.value": text}
        step_span = writer.open(SCOPE, f"{step.name}.execute", span, step_attributes)
        if step.kind == "agent":
            run = scene.run(scene.domain.agent(step.agent), text, max_uses=4)
            step_attributes |= {"agno.step.type": "agent", "agno.step.agent_name": step.agent}
            # The agent of a step has the session id of its workflow, but no user id.
            write_agent(writer, run, identity._replace(user_id=None), step_span)
            text, failure = run.outcome, run.failure
        else:
            writer.spend(8, 1.2)
            text = f"{step.name}: {text}"
        step_attributes |= {"output.value": text, "output.mime_type": "text/plain"}
        step_attributes["openinference.span.kind"] = "CHAIN"
        writer.close(step_span, ERROR if failure else OK, failure.message if failure else "", failure)
        if failure:
            break
    attributes |= {"output.value": text, "output.mime_type": "text/plain", "openinference.span.kind": "CHAIN"}
    attributes |= {"agno.workflow.id": slug(workflow.name), "agno.run.id": _run_id(writer)}
    writer.close(span, ERROR if failure else OK, failure.message if failure else "")
