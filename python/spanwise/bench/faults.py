"""What ends a bench: an answer that is wrong, a server that does not answer."""

from __future__ import annotations

from spanwise.errors import SpanwiseError


class WrongAnswerError(SpanwiseError):
    """Two engines answer the same question differently; nothing of it is worth a time."""


class ServerError(SpanwiseError):
    """The server that is measured did not start, or refused what it should take."""
