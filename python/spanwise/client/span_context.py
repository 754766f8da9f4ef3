"""Sets the session and the user of spans. Requires the OpenTelemetry SDK."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span

SESSION_ID = "session.id"
USER_ID = "user.id"
"""The attribute names of OpenInference, which the service reads as `session_id` and `user_id`."""

_KEY = context.create_key("spanwise-session-and-user")


class ContextProcessor(SpanProcessor):
    """Sets attributes of new spans from their context."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Sets the session and the user of a new span."""
        for name, value in _attributes_in(parent_context).items():
            span.set_attribute(name, value)

    def on_end(self, span: ReadableSpan) -> None:
        """Does nothing."""


@contextmanager
def inside(session_id: str | None, user_id: str | None) -> Iterator[None]:
    """Sets the session and user of spans that start inside the block. `None` keeps the outer value."""
    given = {SESSION_ID: session_id, USER_ID: user_id}
    attributes = _attributes_in(None) | {name: value for name, value in given.items() if value is not None}
    token = context.attach(context.set_value(_KEY, attributes))
    try:
        yield
    finally:
        context.detach(token)


def _attributes_in(parent: Context | None) -> dict[str, str]:
    found = context.get_value(_KEY, parent)
    return found if isinstance(found, dict) else {}
