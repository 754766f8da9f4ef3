"""The scripted replies of the models. Every API of the stub renders them in its own format."""

from __future__ import annotations

import threading
from typing import Any

from msgspec import Struct, field


class ToolCall(Struct, frozen=True):
    """A tool call requested by the model."""

    name: str
    arguments: dict[str, Any]


class Usage(Struct, frozen=True):
    """Tokens of one reply: `cached` is a part of `input`, `reasoning` a part of `output`."""

    input: int = 10
    output: int = 5
    cached: int = 0
    reasoning: int = 0


class Reply(Struct, frozen=True):
    """One reply of a model.

    It answers the first request that contains `when`, up to `times` times. A `status` other than 200 is an API error
    with the message `error`.
    """

    text: str = ""
    tools: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""
    status: int = 200
    error: str = ""
    when: str = ""
    times: int = 1

    @property
    def words(self) -> list[str]:
        """Returns the text in the pieces in which it is streamed."""
        return self.text.replace(" ", " \0").split("\0")


class Script:
    """The replies of one case, consumed in order by the threads of the stub."""

    def __init__(self, replies: list[Reply]) -> None:
        """Holds `replies`, each repeated as often as it may be used."""
        self._waiting = [reply for reply in replies for _ in range(reply.times)]
        self._lock = threading.Lock()
        self._given = 0
        self.unanswered: list[str] = []

    def next(self, request: str) -> tuple[int, Reply]:
        """Returns the number and the first reply that matches the text of a request, or an error 500."""
        with self._lock:
            self._given += 1
            for position, reply in enumerate(self._waiting):
                if reply.when in request:
                    return self._given, self._waiting.pop(position)
            self.unanswered.append(request)
            return self._given, Reply(status=500, error="the case has no reply for this request")

    @property
    def unused(self) -> list[Reply]:
        """Returns the unused replies."""
        return self._waiting
