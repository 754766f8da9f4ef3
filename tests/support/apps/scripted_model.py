"""A model for agno that follows a script, so that tests need no network."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import agno.models.base
from agno.metrics import MessageMetrics
from agno.models.base import Model
from agno.models.response import ModelResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from agno.models.message import Message


@dataclass
class ScriptedModel(Model):
    """A model whose reply comes from `answer`: text, pieces of text, a tool call, or an error to raise."""

    id: str = "scripted-1"
    name: str | None = "Scripted"
    provider: str | None = "Tests"
    answer: Callable[[Sequence[Message]], Any] = field(default=lambda messages: f"echo {messages[-1].content}")

    def invoke(self, *_: Any, messages: list[Message], **__: Any) -> ModelResponse:
        return _as_response(self.answer(messages))

    async def ainvoke(self, *_: Any, messages: list[Message], **__: Any) -> ModelResponse:
        return _as_response(await self._awaited(messages))

    def invoke_stream(self, *_: Any, messages: list[Message], **__: Any) -> Iterator[ModelResponse]:
        yield from _as_pieces(self.answer(messages))

    async def ainvoke_stream(self, *_: Any, messages: list[Message], **__: Any) -> AsyncIterator[ModelResponse]:
        for piece in _as_pieces(await self._awaited(messages)):
            yield piece

    async def _awaited(self, messages: Sequence[Message]) -> object:
        found = self.answer(messages)
        return await found if hasattr(found, "__await__") else found

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        assert isinstance(response, ModelResponse)
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        assert isinstance(response, ModelResponse)
        return response


def tool_call(name: str, **arguments: object) -> dict[str, Any]:
    """Returns a tool call as a model requests it."""
    return {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


_USAGE = MessageMetrics(input_tokens=7, output_tokens=3, total_tokens=10)


def _as_response(found: object) -> ModelResponse:
    pieces = list(_as_pieces(found))
    texts = [piece.content for piece in pieces if piece.content]
    calls = [call for piece in pieces for call in piece.tool_calls]
    return ModelResponse(role="assistant", content="".join(texts) or None, tool_calls=calls, response_usage=_USAGE)


def _as_pieces(found: object) -> Iterator[ModelResponse]:
    match found:
        case Exception():
            raise found
        case dict():
            yield ModelResponse(role="assistant", tool_calls=[found], response_usage=_USAGE)
        case list():
            for index, text in enumerate(found):
                yield ModelResponse(role="assistant", content=text, response_usage=None if index else _USAGE)
        case _:
            yield ModelResponse(role="assistant", content=str(found), response_usage=_USAGE)


# The instrumentor finds models only in agno's own modules.
vars(agno.models.base)["Scripted"] = ScriptedModel
