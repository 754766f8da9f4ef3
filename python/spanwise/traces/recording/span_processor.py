"""A span processor of the OpenTelemetry SDK that passes each span to its recording, from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.context import create_key, get_value
from opentelemetry.sdk.trace import SpanProcessor

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

BUFFER_KEY = create_key("spanwise-span-buffer")
"""The context key of the `SpanBuffer` that receives spans. A trace id is not enough, because callers may share one."""


class SpanBuffer:
    """The spans of one recording that are not stored yet. Its methods may be called from any thread."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        """Creates an empty buffer.

        Args:
            on_end: called when a span ends, from the thread that ended it.
        """
        self._on_end = on_end
        self._is_closed = False
        self._open: dict[int, Span] = {}
        self._ended: list[ReadableSpan] = []

    def start(self, span: Span) -> bool:
        """Adds a span that starts, unless the buffer is closed. Returns True if it was added."""
        if not self._is_closed:
            self._open[span.get_span_context().span_id] = span
        return not self._is_closed

    def end(self, span_id: int, span: ReadableSpan) -> None:
        """Moves a span to the ended ones; a closed buffer drops it."""
        self._open.pop(span_id, None)
        if not self._is_closed:
            self._ended.append(span)
            self._on_end()

    def take(self) -> list[ReadableSpan]:
        """Removes and returns the ended spans."""
        taken, self._ended = self._ended, []
        return taken

    def put_back(self, spans: list[ReadableSpan]) -> None:
        """Returns spans to the buffer after a failed write."""
        self._ended = spans + self._ended

    def open_spans(self) -> list[Span]:
        """Returns the spans that started and have not ended."""
        return list(self._open.copy().values())

    def close(self) -> None:
        """Forgets the open spans; spans that start or end from now on are dropped."""
        self._is_closed = True
        self._open.clear()


class SpanCollector(SpanProcessor):
    """Collects each span in the buffer of its context."""

    def __init__(self) -> None:
        """Creates a collector without spans."""
        self._buffers: dict[int, SpanBuffer] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Adds a span to the buffer of its context; a span without a buffer is ignored."""
        buffer = get_value(BUFFER_KEY, parent_context)
        if isinstance(buffer, SpanBuffer) and buffer.start(span):
            self._buffers[span.get_span_context().span_id] = buffer

    def on_end(self, span: ReadableSpan) -> None:
        """Passes an ended span to its buffer."""
        context = span.get_span_context()
        buffer = self._buffers.pop(context.span_id, None) if context is not None else None
        if buffer is not None and context is not None:
            buffer.end(context.span_id, span)

    def close_buffer(self, buffer: SpanBuffer) -> None:
        """Closes a buffer and stops waiting for the end of its spans."""
        for span in buffer.open_spans():
            self._buffers.pop(span.get_span_context().span_id, None)
        buffer.close()
