"""Runs by the OpenTelemetry GenAI conventions, as pydantic-ai, openai-v2 and genai-util send them."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import msgspec

from .agno import Identity
from .cast import slug
from .scene import MODELS, Failure, Run, Scene, ToolUse, count_tokens
from .spans import CLIENT, ERROR, SERVER, UNSET, Attributes, Scope, Span, TraceWriter

_SCHEMA = "https://opentelemetry.io/schemas/1.37.0"
PYDANTIC = Scope("pydantic-ai", "2.68.0")
OPENAI = Scope("opentelemetry.util.genai.handler", "0.4b0", _SCHEMA)
GENAI = Scope("opentelemetry.util.genai.handler", "1.3b0", _SCHEMA)

Message = dict[str, object]
"""A message with its parts, as `gen_ai.input.messages` holds it."""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _text(role: str, content: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def _call(use: ToolUse) -> Message:
    arguments = msgspec.Raw(use.arguments.encode())
    part = {"type": "tool_call", "id": use.call_id, "name": use.tool.name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def _response(use: ToolUse) -> Message:
    part = {"type": "tool_call_response", "id": use.call_id, "name": use.tool.name, "result": use.result}
    return {"role": "user", "parts": [part]}


def _write_chat(
    writer: TraceWriter, place: tuple[Scope, Span], model: str, messages: list[Message], answer: Message | Failure,
    common: Attributes,
) -> None:  # fmt: skip
    """Writes one model call; `place` is its scope and parent, `common` what the framework adds to every span."""
    scope, parent = place
    asked = _json(messages)
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "server.address": "api.openai.com",
        "gen_ai.request.model": model,
        "gen_ai.input.messages": asked,
    } | common
    span = writer.open(scope, f"chat {model}", parent, attributes, CLIENT)
    writer.spend(700, 0.8)
    if isinstance(answer, Failure):
        attributes["error.type"] = answer.type
        writer.close(span, ERROR, answer.message, answer)
        return
    called = any(part["type"] == "tool_call" for part in answer["parts"])  # type: ignore[attr-defined]
    reason = "tool_call" if called else "stop"
    output = _json([answer | {"finish_reason": reason}])
    attributes |= {
        "gen_ai.output.messages": output,
        "gen_ai.usage.input_tokens": count_tokens(asked),
        "gen_ai.usage.output_tokens": count_tokens(output),
        "gen_ai.response.model": f"{model}-2026-01-01",
        "gen_ai.response.id": f"chatcmpl-{writer.rng.getrandbits(64):016x}",
        "gen_ai.response.finish_reasons": [reason],
    }
    writer.close(span)


def _write_tool(writer: TraceWriter, place: tuple[Scope, Span], use: ToolUse, common: Attributes) -> None:
    scope, parent = place
    attributes: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": use.tool.name,
        "gen_ai.tool.call.id": use.call_id,
        "gen_ai.tool.call.arguments": use.arguments,
    } | common
    span = writer.open(scope, f"execute_tool {use.tool.name}", parent, attributes)
    writer.spend(90, 1.1)
    if use.failure:
        attributes["error.type"] = use.failure.type
        writer.close(span, ERROR, use.failure.message, use.failure)
    else:
        attributes["gen_ai.tool.call.result"] = use.result
        writer.close(span)


def _converse(writer: TraceWriter, place: tuple[Scope, Span], run: Run, common: Attributes) -> list[Message]:
    """Writes the model and tool calls of `run` and returns the messages exchanged, the answer included."""
    messages = [_text("user", run.question)]
    for use in run.uses:
        call = _call(use)
        _write_chat(writer, place, run.model, messages, call, common)
        _write_tool(writer, place, use, common)
        messages += [call, _response(use)]
    answer = _text("assistant", run.answer)
    _write_chat(writer, place, run.model, messages, run.failure or answer, common)
    return messages if run.failure else [*messages, answer]


def write_pydantic_agent(writer: TraceWriter, run: Run, identity: Identity) -> None:
    """Writes a pydantic-ai agent's run: its user stands in `metadata` only."""
    name = slug(run.agent.name, "_")
    call_id = str(UUID(int=writer.rng.getrandbits(128), version=4))
    common: Attributes = {"gen_ai.agent.name": name, "gen_ai.agent.call.id": call_id}
    if identity.session_id:
        common["gen_ai.conversation.id"] = identity.session_id
    attributes: Attributes = {"model_name": run.model, "agent_name": name} | common
    attributes |= {"gen_ai.operation.name": "invoke_agent", "logfire.msg": f"{name} run"}
    if identity.user_id:
        attributes["metadata"] = _json({"user_id": identity.user_id})
    span = writer.open(PYDANTIC, f"invoke_agent {name}", None, attributes)
    messages = _converse(writer, (PYDANTIC, span), run, common)
    attributes["pydantic_ai.all_messages"] = _json(messages)
    attributes["gen_ai.system_instructions"] = _json([{"type": "text", "content": run.instruction}])
    if run.failure:
        writer.close(span, ERROR, f"{run.failure.type}: {run.failure.message}", run.failure)
    else:
        attributes["final_result"] = run.answer
        writer.close(span)


def _write_genai_agent(writer: TraceWriter, run: Run, parent: Span, common: Attributes) -> None:
    name = slug(run.agent.name, "_")
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.request.model": run.model,
        "gen_ai.agent.name": name,
        "gen_ai.agent.description": run.agent.role,
        "gen_ai.input.messages": _json([_text("user", run.question)]),
    } | common
    span = writer.open(GENAI, f"invoke_agent {name}", parent, attributes)
    messages = _converse(writer, (GENAI, span), run, common)
    _close_genai(writer, span, messages[-1], run.failure)


def _close_genai(writer: TraceWriter, span: Span, answer: Message, failure: Failure | None) -> None:
    if failure:
        span.attributes["error.type"] = failure.type
    else:
        span.attributes["gen_ai.output.messages"] = _json([answer | {"finish_reason": "stop"}])
    writer.close(span, ERROR if failure else UNSET, failure.message if failure else "")


def write_planner(writer: TraceWriter, scene: Scene, planner: str, identity: Identity) -> None:
    """Writes a genai-util workflow: two or three agents, one after another."""
    common: Attributes = {"gen_ai.conversation.id": identity.session_id} if identity.session_id else {}
    asked = _json([_text("user", scene.question)])
    attributes: Attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": planner}
    attributes |= {"gen_ai.input.messages": asked} | common
    span = writer.open(GENAI, f"invoke_workflow {planner}", None, attributes)
    agents = [agent for agent in scene.domain.agents if agent.framework == "genai-util"]
    failure = None
    for _ in range(writer.rng.randint(1, 3)):
        run = scene.run(writer.rng.choice(agents), most_uses=4)
        _write_genai_agent(writer, run, span, common)
        failure = run.failure
        if failure:
            break
    _close_genai(writer, span, _text("assistant", scene.answer), failure)


def write_function(writer: TraceWriter, scene: Scene, function: str, identity: Identity) -> None:
    """Writes a function of an application that calls a model: the ids stand on its own span only."""
    service = Scope(scene.domain.service, "0.9.1")
    attributes: Attributes = {"http.request.method": "POST", "http.route": f"/{slug(function)}"}
    span = writer.open(service, function, None, identity.attributes() | attributes, SERVER)
    if writer.rng.random() < 0.25:
        _write_embedding(writer, span, scene.question)
    caller = scene.domain.agents[writer.rng.randrange(len(scene.domain.agents))]
    run = scene.run(caller, most_uses=3)._replace(model=writer.rng.choice(MODELS[:3]))
    _converse(writer, (OPENAI, span), run, {})
    writer.close(span, ERROR if run.failure else UNSET, run.failure.type if run.failure else "")


def _write_embedding(writer: TraceWriter, parent: Span, text: str) -> None:
    model = "text-embedding-3-small"
    span = writer.open(OPENAI, f"embeddings {model}", parent, {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": model,
        "gen_ai.provider.name": "openai",
        "server.address": "api.openai.com",
        "gen_ai.response.model": model,
        "gen_ai.embeddings.dimension.count": 1536,
        "gen_ai.usage.input_tokens": count_tokens(text),
    }, CLIENT)  # fmt: skip
    writer.spend(60, 0.6)
    writer.close(span)


def write_request(writer: TraceWriter, scene: Scene, inner: Callable[[Span], None]) -> None:
    """Writes an HTTP server's span with a database look-up above whatever `inner` writes below it."""
    service = Scope("chat-service", "2.1.0")
    attributes: Attributes = {"http.request.method": "POST", "http.route": "/chat", "url.path": "/chat"}
    span = writer.open(service, "POST /chat", None, attributes | {"server.port": 8080}, SERVER)
    profile = writer.open(service, "load_profile", span, {"db.system.name": "postgresql"}, CLIENT)
    writer.spend(12, 0.8)
    writer.close(profile)
    inner(span)
    failed = any(done.parent_id == span.id and done.status == ERROR for done in writer.spans)
    span.attributes["http.response.status_code"] = 500 if failed else 200
    writer.close(span, ERROR if failed else UNSET)
