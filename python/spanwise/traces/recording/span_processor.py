"""A span processor of the OpenTelemetry SDK that hands every span to the recording it belongs to, from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.context import create_key, get_value
from opentelemetry.sdk.trace import SpanProcessor

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

BUFFER_KEY = create_key("spanwise-span-buffer")
"""The context key of the `SpanBuffer` that spans go to. A trace id would not do: callers may share one."""


class SpanBuffer:
    """The spans of one recording that are not stored yet. Its methods may be called from any thread."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        """Creates an empty buffer.

        Args:
            on_end: called whenever a span ended, from the thread that ended it.
        """
        self._on_end = on_end
        self._is_closed = False
        self._open: dict[int, Span] = {}
        self._ended: list[ReadableSpan] = []

    def start(self, span: Span) -> bool:
        """Adds a span that starts, unless the buffer is closed. Returns whether it was added."""
        if not self._is_closed:
            self._open[span.get_span_context().span_id] = span
        return not self._is_closed

    def end(self, span_id: int, span: ReadableSpan) -> None:
        """Moves a span to those that ended; a closed buffer drops it."""
        self._open.pop(span_id, None)
        if not self._is_closed:
            self._ended.append(span)
            self._on_end()

    def take(self) -> list[ReadableSpan]:
        """Removes and returns the spans that ended."""
        taken, self._ended = self._ended, []
        return taken

    def put_back(self, spans: list[ReadableSpan]) -> None:
        """Returns spans to the buffer that were taken and could not be stored."""
        self._ended = spans + self._ended

    def open_spans(self) -> list[Span]:
        """Returns the spans that started and did not end."""
        return list(self._open.copy().values())

    def close(self) -> None:
        """Forgets the open spans; spans that start or end from now on are dropped."""
        self._is_closed = True
        self._open.clear()


class SpanCollector(SpanProcessor):
    """Collects every span in the buffer that its context names."""

    def __init__(self) -> None:
        """Creates a collector without spans."""
        self._buffers: dict[int, SpanBuffer] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Adds a span to the buffer of its context; a context without one is ignored."""
        buffer = get_value(BUFFER_KEY, parent_context)
        if isinstance(buffer, SpanBuffer) and buffer.start(span):
            self._buffers[span.get_span_context().span_id] = buffer

    def on_end(self, span: ReadableSpan) -> None:
        """Hands an ended span to its buffer."""
        context = span.get_span_context()
        buffer = self._buffers.pop(context.span_id, None) if context is not None else None
        if buffer is not None and context is not None:
            buffer.end(context.span_id, span)

    def close_buffer(self, buffer: SpanBuffer) -> None:
        """Closes a buffer and stops waiting for the end of its spans."""
        for span in buffer.open_spans():
            self._buffers.pop(span.get_span_context().span_id, None)
        buffer.close()
