"""Spans in the OpenTelemetry GenAI conventions, as pydantic-ai, openai-v2 and genai-util send them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from spanwise.demo.cast import slug
from spanwise.demo.scene import MODELS, Failure, count_tokens
from spanwise.demo.spans import CLIENT, ERROR, SERVER, UNSET, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.demo.scene import DemoRun, Scene, ToolUse, TraceIdentity
    from spanwise.demo.spans import Attributes, Span, TraceWriter

_SCHEMA = "https://opentelemetry.io/schemas/1.37.0"
PYDANTIC = Scope("pydantic-ai", "2.68.0")
OPENAI = Scope("opentelemetry.util.genai.handler", "0.4b0", _SCHEMA)
GENAI = Scope("opentelemetry.util.genai.handler", "1.3b0", _SCHEMA)
REQUEST = Scope("chat-service", "2.1.0")
_EMBEDDING_MODEL = "text-embedding-3-small"
_EMBEDDING_SHARE = 0.25


class _Part(Struct, omit_defaults=True):
    type: str
    content: str = ""
    id: str = ""
    name: str = ""
    arguments: Raw = Raw()
    result: str = ""


class _GenAiMessage(Struct, omit_defaults=True):
    """A message in the format of `gen_ai.input.messages`."""

    role: str
    parts: list[_Part]
    finish_reason: str = ""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _text(role: str, content: str, finish_reason: str = "") -> _GenAiMessage:
    return _GenAiMessage(role, [_Part("text", content)], finish_reason)


class _Conversation:
    """Writes the calls of one run below `parent`; `common` has the attributes of all their spans."""

    def __init__(self, writer: TraceWriter, scope: Scope, parent: Span, common: Attributes) -> None:
        self.writer = writer
        self.scope = scope
        self.parent = parent
        self.common = common

    def write(self, run: DemoRun) -> list[_GenAiMessage]:
        """Writes the model and tool calls of `run`. Returns the messages, including the answer."""
        messages = [_text("user", run.question)]
        for use in run.uses:
            call = _Part("tool_call", id=use.call_id, name=use.tool.name, arguments=Raw(use.arguments.encode()))
            request = _GenAiMessage("assistant", [call], "tool_call")
            self._write_chat(run.model, messages, request)
            self._write_tool(use)
            response = _Part("tool_call_response", id=use.call_id, name=use.tool.name, result=use.result)
            messages += [request, _GenAiMessage("user", [response])]
        answer = _text("assistant", run.answer, "stop")
        self._write_chat(run.model, messages, run.failure or answer)
        return messages if run.failure else [*messages, answer]

    def _write_chat(self, model: str, messages: list[_GenAiMessage], answer: _GenAiMessage | Failure) -> None:
        request = _json(messages)
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "server.address": "api.openai.com",
            "gen_ai.request.model": model,
            "gen_ai.input.messages": request,
        } | self.common
        span = self.writer.open(self.scope, f"chat {model}", self.parent, attributes, CLIENT)
        self.writer.spend(700, 0.8)
        if isinstance(answer, Failure):
            attributes["error.type"] = answer.type
            self.writer.close(span, ERROR, answer.message, answer)
            return
        response = _json([answer])
        attributes |= {
            "gen_ai.output.messages": response,
            "gen_ai.usage.input_tokens": count_tokens(request),
            "gen_ai.usage.output_tokens": count_tokens(response),
            "gen_ai.response.model": f"{model}-2026-01-01",
            "gen_ai.response.id": f"chatcmpl-{self.writer.rng.getrandbits(64):016x}",
            "gen_ai.response.finish_reasons": [answer.finish_reason],
        }
        self.writer.close(span)

    def _write_tool(self, use: ToolUse) -> None:
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": use.tool.name,
            "gen_ai.tool.call.id": use.call_id,
            "gen_ai.tool.call.arguments": use.arguments,
        } | self.common
        span = self.writer.open(self.scope, f"execute_tool {use.tool.name}", self.parent, attributes)
        self.writer.spend(90, 1.1)
        if use.failure:
            attributes["error.type"] = use.failure.type
            self.writer.close(span, ERROR, use.failure.message, use.failure)
        else:
            attributes["gen_ai.tool.call.result"] = use.result
            self.writer.close(span)


def write_pydantic_agent(writer: TraceWriter, run: DemoRun, identity: TraceIdentity) -> None:
    """Writes the run of a pydantic-ai agent. Its user id is only in `metadata`."""
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
    messages = _Conversation(writer, PYDANTIC, span, common).write(run)
    attributes["pydantic_ai.all_messages"] = _json(messages)
    attributes["gen_ai.system_instructions"] = _json([_Part("text", run.instruction)])
    if run.failure:
        writer.close(span, ERROR, f"{run.failure.type}: {run.failure.message}", run.failure)
    else:
        attributes["final_result"] = run.answer
        writer.close(span)


def write_planner(writer: TraceWriter, scene: Scene, planner: str, identity: TraceIdentity) -> None:
    """Writes a genai-util workflow of one to three agents in sequence."""
    common: Attributes = {"gen_ai.conversation.id": identity.session_id} if identity.session_id else {}
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": planner,
        "gen_ai.input.messages": _json([_text("user", scene.question)]),
    } | common
    span = writer.open(GENAI, f"invoke_workflow {planner}", None, attributes)
    agents = [agent for agent in scene.domain.agents if agent.framework == "genai-util"]
    failure = None
    for _ in range(writer.rng.randint(1, 3)):
        run = scene.run(writer.rng.choice(agents), max_uses=4)
        _write_genai_agent(writer, run, span, common)
        failure = run.failure
        if failure:
            break
    _close_genai(writer, span, scene.answer, failure)


def _write_genai_agent(writer: TraceWriter, run: DemoRun, parent: Span, common: Attributes) -> None:
    name = slug(run.agent.name, "_")
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.request.model": run.model,
        "gen_ai.agent.name": name,
        "gen_ai.agent.description": run.agent.role,
        "gen_ai.input.messages": _json([_text("user", run.question)]),
    } | common
    span = writer.open(GENAI, f"invoke_agent {name}", parent, attributes)
    _Conversation(writer, GENAI, span, common).write(run)
    _close_genai(writer, span, run.answer, run.failure)


def _close_genai(writer: TraceWriter, span: Span, answer: str, failure: Failure | None) -> None:
    if failure:
        span.attributes["error.type"] = failure.type
        writer.close(span, ERROR, failure.message)
    else:
        span.attributes["gen_ai.output.messages"] = _json([_text("assistant", answer, "stop")])
        writer.close(span)


def write_function(writer: TraceWriter, scene: Scene, function: str, identity: TraceIdentity) -> None:
    """Writes an application function that calls a model. Only its own span has session and user id."""
    named = {"session.id": identity.session_id, "user.id": identity.user_id}
    attributes: Attributes = {key: value for key, value in named.items() if value is not None}
    attributes |= {"http.request.method": "POST", "http.route": f"/{function.replace('_', '-')}"}
    span = writer.open(Scope(scene.domain.service, "0.9.1"), function, None, attributes, SERVER)
    if writer.rng.random() < _EMBEDDING_SHARE:
        _write_embedding(writer, span, scene.question)
    run = scene.run(writer.rng.choice(scene.domain.agents), max_uses=3)
    run = run._replace(model=writer.rng.choice(MODELS[:3]))
    _Conversation(writer, OPENAI, span, {}).write(run)
    writer.close(span, ERROR if run.failure else UNSET, run.failure.type if run.failure else "")


def _write_embedding(writer: TraceWriter, parent: Span, text: str) -> None:
    attributes: Attributes = {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": _EMBEDDING_MODEL,
        "gen_ai.provider.name": "openai",
        "server.address": "api.openai.com",
        "gen_ai.response.model": _EMBEDDING_MODEL,
        "gen_ai.embeddings.dimension.count": 1536,
        "gen_ai.usage.input_tokens": count_tokens(text),
    }
    span = writer.open(OPENAI, f"embeddings {_EMBEDDING_MODEL}", parent, attributes, CLIENT)
    writer.spend(60, 0.6)
    writer.close(span)


def write_request(writer: TraceWriter, inner: Callable[[Span], None]) -> None:
    """Writes an HTTP server span with a database look-up, as the parent of the spans that `inner` writes."""
    attributes: Attributes = {"http.request.method": "POST", "http.route": "/chat", "url.path": "/chat"}
    span = writer.open(REQUEST, "POST /chat", None, attributes | {"server.port": 8080}, SERVER)
    profile = writer.open(REQUEST, "load_profile", span, {"db.system.name": "postgresql"}, CLIENT)
    writer.spend(12, 0.8)
    writer.close(profile)
    inner(span)
    failed = writer.spans[-1].status == ERROR
    span.attributes["http.response.status_code"] = 500 if failed else 200
    writer.close(span, ERROR if failed else UNSET)
