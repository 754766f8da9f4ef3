"""Anthropic's messages. Its input tokens exclude the cached ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import ModelResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frameworks.harness.replies import Reply

    from . import ModelRequest

PATH = r"/v1/messages$"


def respond(request: ModelRequest, reply: Reply) -> ModelResponse:
    """Returns a message, in one piece or as a stream."""
    if reply.status != 200:
        kinds = {401: "authentication_error", 429: "rate_limit_error", 500: "api_error"}
        error = {"type": kinds.get(reply.status, "invalid_request_error"), "message": reply.error}
        return ModelResponse.of_json({"type": "error", "error": error, "request_id": "req_stub"}, reply.status)
    message = {
        "id": f"msg_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": _content(request, reply),
        "stop_reason": "tool_use" if reply.tools else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.usage.input - reply.usage.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": reply.usage.cached,
            "output_tokens": reply.usage.output,
            "service_tier": "standard",
        },
    }
    if request.body.get("stream"):
        return ModelResponse.of_events(_events(message, reply), named=True)
    return ModelResponse.of_json(message)


def _content(request: ModelRequest, reply: Reply) -> list[dict[str, Any]]:
    thinking: dict[str, Any] = {"type": "thinking", "thinking": reply.reasoning, "signature": "c3R1Yg=="}
    content = [thinking] if reply.reasoning else []
    content += [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{request.number}_{index}", "name": call.name, "input": call.arguments}
        for index, call in enumerate(reply.tools)
    ]
    return content


def _events(message: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    usage = message["usage"]
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}},
    }
    for index, block in enumerate(message["content"]):
        match block["type"]:
            case "text":
                empty: dict[str, Any] = {"text": ""}
                deltas = [{"type": "text_delta", "text": word} for word in reply.words]
            case "tool_use":
                empty = {"input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            case _:
                empty = {"thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]},
                ]
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}
