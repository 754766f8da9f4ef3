"""OpenAI's responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import ModelResponse
from .openai_chat import error_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frameworks.harness.replies import Reply

    from . import ModelRequest

PATH = r"/responses$"


def respond(request: ModelRequest, reply: Reply) -> ModelResponse:
    """Returns a response, in one piece or as a stream."""
    if reply.status != 200:
        return error_of(reply)
    usage = reply.usage
    response = {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": request.body.get("instructions"),
        "model": request.body["model"],
        "output": _output(request, reply),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": request.body.get("tool_choice") or "auto",
        "tools": request.body.get("tools") or [],
        "text": request.body.get("text") or {"format": {"type": "text"}},
        "metadata": {},
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.input + usage.output,
        },
    }
    if not request.body.get("stream"):
        return ModelResponse.of_json(response)
    numbered = ({**event, "sequence_number": number} for number, event in enumerate(_events(response, reply)))
    return ModelResponse.of_events(numbered, named=True)


def _output(request: ModelRequest, reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{request.number}", "summary": summary})
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": f"msg_{request.number}", "role": "assistant", "status": "completed"}
        items.append({**message, "content": [part]})
    items += [
        {
            "type": "function_call",
            "id": f"fc_{request.number}_{index}",
            "call_id": f"call_{request.number}_{index}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        for index, call in enumerate(reply.tools)
    ]
    return items


def _events(response: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        opened = {**item, "status": "in_progress"}
        opened |= {"content": []} if "content" in item else {}
        opened |= {"arguments": ""} if "arguments" in item else {}
        yield {"type": "response.output_item.added", "output_index": index, "item": opened}
        if item["type"] == "message":
            [part] = item["content"]
            place |= {"content_index": 0}
            yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
            for word in reply.words:
                yield {"type": "response.output_text.delta", **place, "delta": word, "logprobs": []}
            yield {"type": "response.output_text.done", **place, "text": reply.text, "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
        elif item["type"] == "function_call":
            arguments = {"arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **place, "name": item["name"], **arguments}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}
