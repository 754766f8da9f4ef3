"""Spans of the OpenTelemetry SDK on their way to the recording that they belong to, from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.context import create_key, get_value
from opentelemetry.sdk.trace import SpanProcessor

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

COLLECTED = create_key("spanwise-collected")
"""Where a context says which recording its spans belong to. A trace id would not do: callers may share one."""


class Collected:
    """The spans of one recording that are not stored yet."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        """Begins with none.

        Args:
            on_end: called when a span ended, from the thread that ended it.
        """
        self._on_end = on_end
        self._is_open = True
        self._under_way: dict[int, Span] = {}
        self._ended: list[ReadableSpan] = []

    def start(self, span: Span) -> bool:
        """Takes note of a span that begins. Returns whether its end is awaited."""
        if self._is_open:
            self._under_way[span.get_span_context().span_id] = span
        return self._is_open

    def end(self, span_id: int, span: ReadableSpan) -> None:
        """Takes a span that ended; what ends after the recording is nobody's."""
        self._under_way.pop(span_id, None)
        if self._is_open:
            self._ended.append(span)
            self._on_end()

    def take(self) -> list[ReadableSpan]:
        """Returns the spans that ended, and has them no more."""
        taken, self._ended = self._ended, []
        return taken

    def give_back(self, spans: list[ReadableSpan]) -> None:
        """Takes spans that could not be stored, to be taken again."""
        self._ended = spans + self._ended

    def under_way(self) -> list[Span]:
        """Returns the spans that have begun and not ended."""
        return list(self._under_way.copy().values())

    def close(self) -> None:
        """Takes nothing more."""
        self._is_open = False
        self._under_way.clear()


class Collecting(SpanProcessor):
    """Hands every span to the recording that its context names."""

    def __init__(self) -> None:
        """Begins without spans."""
        self._awaited: dict[int, Collected] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Takes note of a span whose context names a recording."""
        collected = get_value(COLLECTED, parent_context)
        if isinstance(collected, Collected) and collected.start(span):
            self._awaited[span.get_span_context().span_id] = collected

    def on_end(self, span: ReadableSpan) -> None:
        """Hands the span on."""
        context = span.get_span_context()
        collected = self._awaited.pop(context.span_id, None) if context is not None else None
        if collected is not None and context is not None:
            collected.end(context.span_id, span)

    def forget(self, collected: Collected) -> None:
        """Awaits no more spans of a recording that is over."""
        for span in collected.under_way():
            self._awaited.pop(span.get_span_context().span_id, None)
        collected.close()
