"""Bedrock's `Converse`. Its input tokens exclude the cached ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import ModelResponse

if TYPE_CHECKING:
    from frameworks.harness.replies import Reply

    from . import ModelRequest

PATH = r"/model/(?P<model>[^/]+)/converse$"


def respond(request: ModelRequest, reply: Reply) -> ModelResponse:
    """Returns the message of the model in one piece."""
    if reply.status != 200:
        return ModelResponse.of_json({"message": reply.error}, reply.status)
    usage = reply.usage
    content: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    content += [
        {"toolUse": {"toolUseId": f"tooluse_{request.number}_{index}", "name": call.name, "input": call.arguments}}
        for index, call in enumerate(reply.tools)
    ]
    return ModelResponse.of_json(
        {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": "tool_use" if reply.tools else "end_turn",
            "usage": {
                "inputTokens": usage.input - usage.cached,
                "outputTokens": usage.output,
                "totalTokens": usage.input + usage.output,
                "cacheReadInputTokens": usage.cached,
            },
            "metrics": {"latencyMs": 10},
        }
    )
