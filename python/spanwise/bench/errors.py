"""Errors that end a benchmark."""

from __future__ import annotations

from spanwise.errors import SpanwiseError


class WrongResultError(SpanwiseError):
    """Two engines return different results for the same query."""


class ServerError(SpanwiseError):
    """The measured server did not start, or rejected a valid request."""
