"""The model APIs of the stub, each a module with `PATH`, a pattern of its paths, and `respond`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable


class ModelRequest(Struct, frozen=True):
    """A request to a model API."""

    path: re.Match[str]
    body: dict[str, Any]
    number: int
    """The number of the request within a case, from 1. Ids are derived from it."""


class ModelResponse(Struct, frozen=True):
    """The response of a model API."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"

    @classmethod
    def of_json(cls, content: object, status: int = 200) -> ModelResponse:
        """Returns a JSON response."""
        return cls(json.dumps(content).encode(), status)

    @classmethod
    def of_events(cls, events: Iterable[dict[str, Any]], *, named: bool = False, end: str = "") -> ModelResponse:
        """Returns server-sent events. `named` names each after its member `type`, and `end` is a last line."""
        texts = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
        return cls(("".join(texts) + end).encode(), content_type="text/event-stream")
