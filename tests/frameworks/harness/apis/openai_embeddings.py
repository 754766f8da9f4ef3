"""OpenAI's embeddings: a vector of 8 numbers for each input."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any

from . import ModelResponse
from .openai_chat import error_of

if TYPE_CHECKING:
    from frameworks.harness.replies import Reply

    from . import ModelRequest

PATH = r"/embeddings$"
VECTOR = [0.5, -0.25, 0.125, 0.0, 1.0, -1.0, 0.75, 0.0625]


def respond(request: ModelRequest, reply: Reply) -> ModelResponse:
    """Returns the vectors, as numbers or packed, and the input tokens of the reply."""
    if reply.status != 200:
        return error_of(reply)
    inputs = request.body["input"]
    count = len(inputs) if isinstance(inputs, list) and not isinstance(inputs[0], int) else 1
    packed = base64.b64encode(struct.pack("<8f", *VECTOR)).decode()
    vector: Any = packed if request.body.get("encoding_format") == "base64" else VECTOR
    return ModelResponse.of_json(
        {
            "object": "list",
            "model": request.body["model"],
            "data": [{"object": "embedding", "index": index, "embedding": vector} for index in range(count)],
            "usage": {"prompt_tokens": reply.usage.input, "total_tokens": reply.usage.input},
        }
    )
