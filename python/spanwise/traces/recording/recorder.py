"""Records a run as one trace: spans of the OpenTelemetry SDK, stored as they end.

A run that pauses and resumes is still one trace with one root. Its root is stored again under the same span id, with
the first start and the last end, and the store keeps the later version. A long span is likewise stored before its end,
so that a crash leaves a tree. If an instrumentor creates the root span, that span also gets the ids and the identity of
the run.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opentelemetry import trace as api
from opentelemetry.context import Context, attach, detach, set_value
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from spanwise.traces.recording.origin import TraceOrigin
from spanwise.traces.recording.otlp_request import RunOverrides
from spanwise.traces.recording.proxy_tracer import proxying_to
from spanwise.traces.recording.span_processor import BUFFER_KEY, SpanBuffer, SpanCollector
from spanwise.traces.recording.span_writer import SpanWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span

    from spanwise.traces.recording.proxy_tracer import Scope
    from spanwise.traces.recording.span_writer import Ingester

MAX_ATTRIBUTES = 1024
"""Attributes of one span, and events of one span."""
WRITE_DELAY_SECONDS = 0.25
"""While a run continues, its ended spans are stored after this delay."""
SETTLE_SECONDS = 0.1
"""How long spans may stay open after their run. Frameworks leave generators that end a little later."""
_IDENTITY = {"session.id", "gen_ai.conversation.id", "user.id"}
_chosen_ids: ContextVar[tuple[int, int] | None] = ContextVar("chosen_ids", default=None)


class Recorder:
    """Records runs as traces. It uses its own tracer provider and does not change the program's.

    Attributes:
        joins: True if runs continue the caller's trace.
        collector: receives the spans of the tracer provider.
        writer: stores the spans.
    """

    def __init__(self, traces: Ingester, service_name: str, *, joins: bool = False) -> None:
        """Creates the tracer provider.

        Args:
            traces: stores the spans.
            service_name: the resource attribute `service.name` of the spans.
            joins: True if a run continues its caller's trace instead of starting one that links to it.
        """
        self.joins = joins
        self.collector = SpanCollector()
        resource = Resource({"service.name": service_name})
        self.writer = SpanWriter(traces, resource)
        limits = SpanLimits(
            max_span_attributes=MAX_ATTRIBUTES, max_attribute_length=SpanLimits.UNSET, max_events=MAX_ATTRIBUTES
        )
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=resource,
            shutdown_on_exit=False,
            id_generator=_IdGenerator(),
            span_limits=limits,
        )
        self._provider.add_span_processor(self.collector)

    def begin(
        self,
        identity: Mapping[str, str | None],
        traceparent: str | None,
        origin: TraceOrigin | None,
    ) -> Recording:
        """Returns the recording of one run, or of the next part of a resumed one. Call it on the event loop.

        Args:
            identity: `session.id` and `user.id`; they override the values of a component.
            traceparent: the caller's trace context header; the run links to that trace, or continues it.
            origin: the trace of a resumed run; None for a new run.
        """
        return Recording(self._provider, identity, traceparent, origin, self)


class Recording:
    """The trace of one run in progress.

    Attributes:
        origin: the root of the trace.
    """

    def __init__(
        self,
        provider: TracerProvider,
        identity: Mapping[str, str | None],
        traceparent: str | None,
        origin: TraceOrigin | None,
        recorder: Recorder,
    ) -> None:
        """Chooses the ids of the root; see `Recorder.begin`."""
        self._provider = provider
        self._tracer = provider.get_tracer("spanwise")
        self._recorder = recorder
        caller = _caller(traceparent)
        continues_caller = recorder.joins and caller is not None and origin is None
        self._links = [] if continues_caller or caller is None else [Link(caller)]
        session, user = identity.get("session.id"), identity.get("user.id")
        attributes = {"session.id": session, "gen_ai.conversation.id": session, "user.id": user}
        self._identity = {name: value for name, value in attributes.items() if value is not None}
        self.origin = origin or _new_origin(caller if continues_caller else None)
        self._has_root = False
        self._loop = asyncio.get_running_loop()
        self._buffer = SpanBuffer(self._write_soon)
        self._is_write_scheduled = False
        self._writing: asyncio.Task[None] | None = None
        self._written_open: set[int] = set()
        self._has_ended = False

    @property
    def trace_id(self) -> str:
        """Returns the id of the trace, 32 hexadecimal digits."""
        return self.origin.trace_id

    @contextmanager
    def span(self, name: str, kind: str, content: str | None, attributes: Mapping[str, Any]) -> Iterator[_RecordedSpan]:
        """Opens a span inside the current one until the block ends; the first span of a run is its root.

        An exception of the block is recorded in the span and raised again.

        Args:
            name: the span's name.
            kind: an OpenInference span kind.
            content: the span's input.
            attributes: further attributes.
        """
        described = {**attributes, "openinference.span.kind": kind, **self._identity}
        if content is not None:
            described["input.value"] = content
        before = attach(set_value(BUFFER_KEY, self._buffer))
        try:
            with api.use_span(self._start(name, described), end_on_exit=True, record_exception=False) as span:
                try:
                    yield _RecordedSpan(span)
                except BaseException as error:  # a cancelled span has failed too; the error propagates
                    span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
                    span.record_exception(error)
                    raise
        finally:
            detach(before)

    @contextmanager
    def instrumented(self, attributes: Mapping[str, Any]) -> Iterator[_IgnoredSpan]:
        """Records the spans that an instrumentor starts inside the block.

        Args:
            attributes: further attributes of the first of these spans.
        """
        with proxying_to(_FirstSpanTarget(self, attributes)):
            yield _IgnoredSpan()

    def start_proxy_span(self, scope: Scope, name: str, options: dict[str, Any]) -> Span:
        """Starts a span on behalf of an instrumentor; the first span of a run is its root."""
        options["attributes"] = {**(options["attributes"] or {}), **self._identity}
        options["context"] = set_value(BUFFER_KEY, self._buffer, options["context"])
        tracer = self._provider.get_tracer(*scope)
        return tracer.start_span(name, **options) if self._has_root else self._start_root(tracer, name, options)

    def _start(self, name: str, attributes: dict[str, Any]) -> Span:
        if self._has_root:
            return self._tracer.start_span(name, attributes=attributes)
        return self._start_root(self._tracer, name, {"attributes": attributes})

    def _start_root(self, tracer: api.Tracer, name: str, options: Mapping[str, Any]) -> Span:
        self._has_root = True
        origin = self.origin
        chosen = _chosen_ids.set((int(origin.trace_id, 16), int(origin.span_id, 16)))
        context, start = self._context_inside(origin.parent), origin.start or None
        fixed = {"context": context, "kind": SpanKind.SERVER, "links": self._links, "start_time": start}
        try:
            root = tracer.start_span(origin.name or name, **{**options, **fixed})
        finally:
            _chosen_ids.reset(chosen)
        started: int = getattr(root, "start_time", 0) or 0
        self.origin = TraceOrigin(origin.trace_id, origin.span_id, started, origin.name or name, origin.parent)
        self._write_soon()
        return root

    def _context_inside(self, parent: str) -> Context:
        """Returns the context for a child of the span `parent` of this trace. An empty `parent` means a root."""
        context = set_value(BUFFER_KEY, self._buffer, Context())
        if not parent:
            return context
        ids = int(self.trace_id, 16), int(parent, 16)
        outer = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        return api.set_span_in_context(NonRecordingSpan(outer), context)

    def interrupt(self, reason: str, attributes: Mapping[str, Any], at: int) -> None:
        """Adds a span with an error status, to show that the run did not end by itself.

        Args:
            reason: the message of the error status.
            attributes: facts about the run. A trace without other spans needs them.
            at: the time in nanoseconds since 1970.
        """
        context = self._context_inside(self.origin.span_id)
        span = self._tracer.start_span("interrupted", context, attributes=attributes, start_time=at)
        span.set_status(Status(StatusCode.ERROR, reason))
        span.end(at)

    def _write_soon(self) -> None:
        """Schedules a write; may be called from any thread."""
        if not self._is_write_scheduled:
            self._is_write_scheduled = True
            self._loop.call_soon_threadsafe(self._loop.call_later, WRITE_DELAY_SECONDS, self._write_now)

    def _write_now(self) -> None:
        self._is_write_scheduled = False
        if self._has_ended:
            return
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        else:
            self._write_soon()

    async def _write(self) -> None:
        """Stores the ended spans, and once each the spans that are still open."""
        ended = self._buffer.take()
        open_spans = {span.get_span_context().span_id: span for span in self._buffer.open_spans()}
        started = [span for span_id, span in open_spans.items() if span_id not in self._written_open]
        self._written_open = set(open_spans)
        if not await self._recorder.writer.write(self.trace_id, [*ended, *started], self._overrides(None)):
            self._buffer.put_back(ended)

    async def end(self, failure: str | None = None) -> bool:
        """Ends open spans and stores the rest of the trace. Returns True if searches can now find the trace.

        Args:
            failure: why the run failed; it becomes the status of a root without an error status of its own.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        while self._buffer.open_spans() and time.monotonic() < deadline:  # noqa: ASYNC110  # spans end in any thread
            await asyncio.sleep(SETTLE_SECONDS / 20)
        for span in self._buffer.open_spans():
            span.end()
        self._has_ended = True
        self._recorder.collector.close_buffer(self._buffer)
        if self._writing is not None:
            await asyncio.wait([self._writing])
        return await self._recorder.writer.write(self.trace_id, self._buffer.take(), self._overrides(failure))

    def _overrides(self, failure: str | None) -> RunOverrides:
        return RunOverrides(self._identity, self.origin.span_id, failure)


class _FirstSpanTarget:
    """A proxy target that adds attributes to the first span of an instrumentor."""

    def __init__(self, recording: Recording, attributes: Mapping[str, Any]) -> None:
        self._recording = recording
        self._attributes = dict(attributes)

    def start_proxy_span(self, scope: Scope, name: str, options: dict[str, Any]) -> Span:
        attributes, self._attributes = self._attributes, {}
        options["attributes"] = {**(options["attributes"] or {}), **attributes}
        return self._recording.start_proxy_span(scope, name, options)


class _IgnoredSpan:
    """An open span that ignores all calls, because an instrumentor records the actual span."""

    def output(self, content: str | None) -> None:
        """Does nothing."""

    def attribute(self, name: str, value: str | float) -> None:
        """Does nothing."""


class _RecordedSpan:
    """An open span as components see it."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def output(self, content: str | None) -> None:
        """Sets the span's output."""
        if content is not None:
            self._span.set_attribute("output.value", content)

    def attribute(self, name: str, value: str | float) -> None:
        """Sets an attribute. Attributes of the run's identity are ignored, because components cannot change them."""
        if name not in _IDENTITY:
            self._span.set_attribute(name, value)


class _IdGenerator(RandomIdGenerator):
    """Generates the chosen ids for a root, and random ones for every other span."""

    def generate_trace_id(self) -> int:
        chosen = _chosen_ids.get()
        return chosen[0] if chosen else super().generate_trace_id()

    def generate_span_id(self) -> int:
        chosen = _chosen_ids.get()
        return chosen[1] if chosen else super().generate_span_id()


def _new_origin(caller: SpanContext | None) -> TraceOrigin:
    ids = RandomIdGenerator()
    trace_id = ids.generate_trace_id() if caller is None else caller.trace_id
    parent = "" if caller is None else f"{caller.span_id:016x}"
    return TraceOrigin(f"{trace_id:032x}", f"{ids.generate_span_id():016x}", 0, parent=parent)


def _caller(traceparent: str | None) -> SpanContext | None:
    """Returns the caller's span named by a `traceparent` header; None if the header is empty or invalid."""
    if traceparent is None:
        return None
    context = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, Context())
    caller: SpanContext = api.get_current_span(context).get_span_context()
    if not caller.is_valid:
        return None
    return SpanContext(caller.trace_id, caller.span_id, is_remote=True, trace_flags=TraceFlags(caller.trace_flags))
