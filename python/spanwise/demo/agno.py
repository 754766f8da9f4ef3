"""Runs as agno programs send them: OpenInference spans of agents, teams and workflows."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

import msgspec

from .cast import Team, Workflow, slug
from .scene import Failure, Run, Scene, ToolUse, count_tokens
from .spans import ERROR, OK, Attributes, Scope, Span, TraceWriter

SCOPE = Scope("openinference.instrumentation.agno", "1.0.15")
_DELEGATE = "delegate_task_to_member"
_DELEGATE_DESCRIPTION = "Use this function to delegate a task to the selected team member."
_STEP_TYPES = {"agent": "Step", "function": "function"}


class Identity(NamedTuple):
    """For whom a run happens, and how it was called: `run`, or `arun` from asynchronous code."""

    session_id: str | None
    user_id: str | None
    method: str = "run"

    def attributes(self) -> Attributes:
        """Returns the attributes that name session and user."""
        named = {"session.id": self.session_id, "user.id": self.user_id}
        return {key: value for key, value in named.items() if value is not None}


class _Message(msgspec.Struct, omit_defaults=True):
    role: str
    content: str = ""
    tool_call_id: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    """The tool calls an assistant asks for: id, name, arguments."""

    def as_json(self) -> dict[str, object]:
        body: dict[str, object] = {"role": self.role}
        if self.content:
            body["content"] = self.content
        if self.tool_call_id:
            body["tool_call_id"] = self.tool_call_id
        if self.calls:
            body["tool_calls"] = [
                {"id": call_id, "function": {"arguments": arguments, "name": name}, "type": "function"}
                for call_id, name, arguments in self.calls
            ]
        return body

    def attributes(self, prefix: str) -> Attributes:
        named: Attributes = {f"{prefix}.role": self.role}
        if self.tool_call_id:
            named[f"{prefix}.tool_call_id"] = self.tool_call_id
        if self.content:
            named[f"{prefix}.content"] = self.content
        for place, (call_id, name, arguments) in enumerate(self.calls):
            call = f"{prefix}.tool_calls.{place}.tool_call"
            named[f"{call}.id"] = call_id
            named[f"{call}.function.name"] = name
            named[f"{call}.function.arguments"] = arguments
        return named


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _node(writer: TraceWriter, name: str, parent: Attributes | None) -> Attributes:
    node: Attributes = {"graph.node.id": f"{writer.rng.getrandbits(64):016x}", "graph.node.name": name}
    if parent and "graph.node.id" in parent:
        node["graph.node.parent_id"] = parent["graph.node.id"]
    return node


def _run_id(writer: TraceWriter) -> str:
    return str(UUID(int=writer.rng.getrandbits(128), version=4))


def _write_model_call(
    writer: TraceWriter, parent: Span, model: str, messages: list[_Message], answer: _Message | Failure
) -> None:
    asked = _json({"messages": [message.as_json() for message in messages]})
    attributes: Attributes = {"input.mime_type": "application/json", "input.value": asked}
    for place, message in enumerate(messages):
        attributes |= message.attributes(f"llm.input_messages.{place}.message")
    attributes |= {"llm.model_name": model, "llm.provider": "OpenAI", "llm.system": "openai"}
    span = writer.open(SCOPE, "OpenAIChat.invoke", parent, attributes)
    writer.spend(640, 0.75)
    attributes["openinference.span.kind"] = "LLM"
    if isinstance(answer, Failure):
        writer.close(span, ERROR, f"{answer.type}: {answer.message}", answer)
        return
    output = _json([answer.as_json()])
    attributes |= answer.attributes("llm.output_messages.0.message")
    attributes |= {"output.mime_type": "application/json", "output.value": output}
    attributes |= {"llm.token_count.prompt": count_tokens(asked), "llm.token_count.completion": count_tokens(output)}
    writer.close(span, OK)


def _write_tool_call(writer: TraceWriter, parent: Span, use: ToolUse) -> None:
    span = writer.open(SCOPE, use.tool.name, parent, {
        "input.mime_type": "application/json",
        "input.value": use.arguments,
        "tool.name": use.tool.name,
        "tool.description": use.tool.description,
        "tool.parameters": use.arguments,
        "output.value": use.result,
        "output.mime_type": "text/plain",
        "openinference.span.kind": "TOOL",
    })  # fmt: skip
    writer.spend(90, 1.1)
    if use.failure:
        writer.close(span, ERROR, use.failure.message, use.failure)
    else:
        writer.close(span, OK)


def write_agent(writer: TraceWriter, run: Run, identity: Identity, parent: Span | None = None) -> None:
    """Writes an agent's run: model and tool calls in turn, then the answer."""
    name = run.agent.name
    attributes = _node(writer, name, parent.attributes if parent else None)
    attributes |= {"input.value": run.question, "agent.name": name, "agno.agent.id": slug(name), "agno.agent": name}
    if run.agent.tools:
        attributes["agno.tools"] = run.agent.tools
    span = writer.open(SCOPE, f"{name.replace(' ', '_')}.{identity.method}", parent, attributes)
    messages = [_Message("system", run.instruction), _Message("user", run.question)]
    for use in run.uses:
        call = _Message("assistant", calls=((use.call_id, use.tool.name, use.arguments),))
        _write_model_call(writer, span, run.model, messages, call)
        _write_tool_call(writer, span, use)
        messages += [call, _Message("tool", use.result, use.call_id)]
    _write_model_call(writer, span, run.model, messages, run.failure or _Message("assistant", run.answer))
    _close_run(writer, span, run.failure.message if run.failure else run.answer, identity, failed=bool(run.failure))


def _close_run(writer: TraceWriter, span: Span, output: str, identity: Identity, *, failed: bool) -> None:
    span.attributes |= identity.attributes()
    span.attributes |= {"output.value": output, "output.mime_type": "application/json", "agno.run.id": _run_id(writer)}
    span.attributes["openinference.span.kind"] = "AGENT"
    writer.close(span, ERROR if failed else OK, "run status: error" if failed else "")


def write_team(writer: TraceWriter, scene: Scene, team: Team, identity: Identity) -> None:
    """Writes a team's run: the leader's model delegates to each member, whose run stands beside the tool."""
    attributes = _node(writer, team.name, None)
    attributes |= {"input.value": scene.question, "agent.name": team.name}
    attributes |= {"agno.team.id": slug(team.name), "agno.team": team.name}
    span = writer.open(SCOPE, f"{team.name.replace(' ', '_')}.{identity.method}", None, attributes)
    messages = [
        _Message("system", f"You lead the {team.name}: {', '.join(team.members)}. {scene.domain.instructions[0]}"),
        _Message("user", scene.question),
    ]
    for member in team.members:
        task = f"{scene.domain.agent(member).role}: {scene.question}"
        run = scene.run(scene.domain.agent(member), task, most_uses=3)
        call_id = f"call_{writer.rng.getrandbits(48):012x}"
        arguments = _json({"member_id": slug(member), "task": task})
        call = _Message("assistant", calls=((call_id, _DELEGATE, arguments),))
        _write_model_call(writer, span, "gpt-4o", messages, call)
        result = run.failure.message if run.failure else run.answer
        delegation = writer.open(SCOPE, _DELEGATE, span, {
            "input.mime_type": "application/json",
            "input.value": arguments,
            "tool.name": _DELEGATE,
            "tool.description": _DELEGATE_DESCRIPTION,
            "tool.parameters": arguments,
            "output.value": result,
            "output.mime_type": "text/plain",
            "openinference.span.kind": "TOOL",
        })  # fmt: skip
        write_agent(writer, run, identity._replace(method="run"), span)
        writer.close(delegation, OK)
        messages += [call, _Message("tool", result, call_id)]
    _write_model_call(writer, span, "gpt-4o", messages, _Message("assistant", scene.answer))
    _close_run(writer, span, scene.answer, identity, failed=False)


def write_workflow(writer: TraceWriter, scene: Scene, workflow: Workflow, identity: Identity) -> None:
    """Writes a workflow's run: its steps one after another, each on the output of the one before."""
    attributes = _node(writer, workflow.name, None)
    attributes |= {
        "input.value": scene.question,
        "agno.workflow.description": workflow.description,
        "agno.workflow.steps_count": len(workflow.steps),
        "agno.workflow.steps": [step.name for step in workflow.steps],
        "agno.workflow.step_types": [_STEP_TYPES[step.kind] for step in workflow.steps],
    } | identity.attributes()
    span = writer.open(SCOPE, f"{workflow.name.replace(' ', '_')}.{identity.method}", None, attributes)
    # A step's agent knows the session of its workflow, not the user.
    inner = Identity(identity.session_id, None)
    text = scene.question
    failure = None
    for step in workflow.steps:
        step_attributes = _node(writer, step.name, attributes) | {"input.value": text}
        step_span = writer.open(SCOPE, f"{step.name}.execute", span, step_attributes)
        if step.kind == "agent":
            run = scene.run(scene.domain.agent(step.agent), text, most_uses=4)
            step_attributes |= {"agno.step.type": "agent", "agno.step.agent_name": step.agent}
            write_agent(writer, run, inner, step_span)
            failure, text = run.failure, run.failure.message if run.failure else run.answer
        else:
            writer.spend(8, 1.2)
            text = f"{step.name}: {text}"
        step_attributes |= {"output.value": text, "output.mime_type": "text/plain"}
        step_attributes["openinference.span.kind"] = "CHAIN"
        writer.close(step_span, ERROR if failure else OK, failure.message if failure else "", failure)
        if failure:
            break
    attributes |= {"agno.workflow.id": slug(workflow.name), "agno.run.id": _run_id(writer)}
    attributes |= {"output.value": text, "output.mime_type": "text/plain", "openinference.span.kind": "CHAIN"}
    writer.close(span, ERROR if failure else OK, failure.message if failure else "")
