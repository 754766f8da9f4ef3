"""Gemini's `generateContent`. Its candidates' tokens exclude the thoughts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import ModelResponse

if TYPE_CHECKING:
    from frameworks.harness.replies import Reply

    from . import ModelRequest

PATH = r"/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)$"


def respond(request: ModelRequest, reply: Reply) -> ModelResponse:
    """Returns the content, in one piece or as a stream of server-sent events."""
    if reply.status != 200:
        kinds = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
        status = kinds.get(reply.status, "INVALID_ARGUMENT")
        error = {"code": reply.status, "message": reply.error, "status": status}
        return ModelResponse.of_json({"error": error}, reply.status)
    usage = reply.usage
    thoughts = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
    calls = [{"functionCall": {"name": call.name, "args": call.arguments}} for call in reply.tools]
    if request.path["method"] == "generateContent":
        pieces: list[list[Any]] = [[*thoughts, *([{"text": reply.text}] if reply.text else []), *calls]]
    else:
        pieces = [*([thoughts] if thoughts else []), *([{"text": word}] for word in reply.words if word)]
        pieces += [calls] if calls else []
    head = {"modelVersion": request.path["model"], "responseId": f"response-{request.number}"}
    answers: list[dict[str, Any]] = [
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}], **head} for parts in pieces
    ]
    answers[-1]["candidates"][0]["finishReason"] = "STOP"
    answers[-1]["usageMetadata"] = {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    }
    if request.path["method"] == "generateContent":
        return ModelResponse.of_json(answers[0])
    return ModelResponse.of_events(answers)
