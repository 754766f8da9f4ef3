"""OpenAI's chat completions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import ModelResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frameworks.harness.replies import Reply

    from . import ModelRequest

PATH = r"/chat/completions$"


def usage_of(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def error_of(reply: Reply) -> ModelResponse:
    kinds = {401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error"}
    code = kinds.get(reply.status, "invalid_request_error")
    error = {"message": reply.error, "type": code, "param": None, "code": code}
    return ModelResponse.of_json({"error": error}, reply.status)


def respond(request: ModelRequest, reply: Reply) -> ModelResponse:
    """Returns a completion, in one piece or as a stream."""
    if reply.status != 200:
        return error_of(reply)
    head = {
        "id": f"chatcmpl-{request.number}",
        "created": 1_790_000_000,
        "model": request.body["model"],
        "service_tier": "default",
        "system_fingerprint": "fp_stub",
    }
    calls = [
        {
            "id": f"call_{request.number}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(reply.tools)
    ]
    finish = "tool_calls" if calls else "stop"
    if request.body.get("stream"):
        chunks = _chunks(request, reply, calls, finish)
        events = ({**head, "object": "chat.completion.chunk", **chunk} for chunk in chunks)
        return ModelResponse.of_events(events, end="data: [DONE]\n\n")
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None, "annotations": []}
    if calls:
        message["tool_calls"] = calls
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return ModelResponse.of_json({**head, "object": "chat.completion", "choices": [choice], "usage": usage_of(reply)})


def _chunks(request: ModelRequest, reply: Reply, calls: list[dict[str, Any]], finish: str) -> Iterator[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if reply.text:
        deltas += [{"content": word} for word in reply.words]
    deltas += [{"tool_calls": [{"index": index, **call}]} for index, call in enumerate(calls)]
    for delta in deltas:
        yield {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": finish}]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {"choices": [], "usage": usage_of(reply)}
