"""A run becomes one trace: spans of the OpenTelemetry SDK, exported straight into the store.

A run that pauses and goes on later is still one trace with one root: the root is sent again under its id, with
its first start and its last end, and the store keeps the later one.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from opentelemetry import trace as api
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from spanwise.errors import SpanwiseError
from spanwise.traces.otlp import CONTENT_TYPE, export_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span

    from spanwise.traces.service import Traces

MOST_ATTRIBUTES = 1024
_IDENTITY = {"session.id", "gen_ai.conversation.id", "user.id"}
_given_ids: ContextVar[tuple[int, int] | None] = ContextVar("given_ids", default=None)
_log = logging.getLogger(__name__)


class Beginning(Struct, frozen=True):
    """Where a trace began; with it, a run that pauses goes on in the same trace.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: the root, 16 hexadecimal digits.
        start: nanoseconds since 1970.
    """

    trace_id: str
    span_id: str
    start: int


class Recorder:
    """Makes the traces of runs. It has a tracer provider of its own; that of the program stays as it is."""

    def __init__(self, traces: Traces, service_name: str) -> None:
        """Prepares to record.

        Args:
            traces: where traces go.
            service_name: who they are from.
        """
        self._traces = traces
        self._collecting = _Collecting()
        limits = SpanLimits(
            max_span_attributes=MOST_ATTRIBUTES, max_attribute_length=SpanLimits.UNSET, max_events=MOST_ATTRIBUTES
        )
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": service_name}),
            shutdown_on_exit=False,
            id_generator=_Ids(),
            span_limits=limits,
        )
        self._provider.add_span_processor(self._collecting)

    def begin(
        self,
        identity: Mapping[str, str | None],
        traceparent: str | None,
        before: Beginning | None,
    ) -> Recording:
        """Returns the recording of one run, or of one more part of it.

        Args:
            identity: `session.id` and `user.id` as the service knows them; nothing that a component sets wins.
            traceparent: what the caller's trace context says; the run's trace links to it.
            before: where the trace began, if the run goes on after a pause.
        """
        recording = Recording(self._provider.get_tracer("spanwise"), identity, traceparent, before, self)
        self._collecting.expect(recording.trace_id)
        return recording

    async def keep(self, trace_id: str, identity: Mapping[str, str]) -> bool:
        """Stores the spans of a trace that ended. Returns whether they can be found now.

        Args:
            trace_id: the trace.
            identity: the attributes that say whose it is; they win over what a component set.
        """
        spans = self._collecting.take(trace_id)
        if not spans:
            return True
        try:
            body = export_of(spans, self._provider.resource, identity)
            report = await self._traces.ingest(body, CONTENT_TYPE, None, None)
        except SpanwiseError as error:
            _log.error("the trace %s of a run was not stored: %s", trace_id, error)  # the cause is in it
            return False
        if report.rejected_spans:
            _log.error("%d spans of the trace %s were not accepted: %s", report.rejected_spans, trace_id, report.reason)
        return not report.rejected_spans


class Recording:
    """The trace of one run, while it runs."""

    def __init__(
        self,
        tracer: api.Tracer,
        identity: Mapping[str, str | None],
        traceparent: str | None,
        before: Beginning | None,
        recorder: Recorder,
    ) -> None:
        """Prepares the root; see `Recorder.begin`."""
        self._tracer = tracer
        self._recorder = recorder
        self._before = before
        self._links = _links(traceparent)
        session, user = identity.get("session.id"), identity.get("user.id")
        every = {"session.id": session, "gen_ai.conversation.id": session, "user.id": user}
        self._identity = {name: value for name, value in every.items() if value is not None}
        root = before or self._new_beginning()
        self.beginning = root
        self._is_begun = False

    @property
    def trace_id(self) -> str:
        """Returns the id of the trace, as searches know it."""
        return self.beginning.trace_id

    def _new_beginning(self) -> Beginning:
        ids = RandomIdGenerator()
        return Beginning(f"{ids.generate_trace_id():032x}", f"{ids.generate_span_id():016x}", 0)

    @contextmanager
    def span(self, name: str, kind: str, content: str | None, attributes: Mapping[str, Any]) -> Iterator[_OpenSpan]:
        """Opens a span inside the one that is open, the root first; its failure is recorded and passes on."""
        described = {**attributes, "openinference.span.kind": kind, **self._identity}
        if content is not None:
            described["input.value"] = content
        with api.use_span(self._start(name, described), end_on_exit=True, record_exception=False) as span:
            try:
                yield _OpenSpan(span)
            except BaseException as error:
                span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
                span.record_exception(error)
                raise

    def _start(self, name: str, attributes: dict[str, Any]) -> Span:
        if self._is_begun:
            return self._tracer.start_span(name, attributes=attributes)
        self._is_begun = True
        given = _given_ids.set((int(self.beginning.trace_id, 16), int(self.beginning.span_id, 16)))
        try:
            start = self.beginning.start or None
            root = self._tracer.start_span(
                name, Context(), SpanKind.SERVER, attributes=attributes, links=self._links, start_time=start
            )
        finally:
            _given_ids.reset(given)
        started: int = getattr(root, "start_time", 0) or 0
        self.beginning = Beginning(self.beginning.trace_id, self.beginning.span_id, started)
        return root

    async def end(self) -> bool:
        """Stores the trace. Returns whether it can be found now."""
        return await self._recorder.keep(self.trace_id, self._identity)


class _OpenSpan:
    """A span that is under way, as components see it."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def output(self, content: str | None) -> None:
        """Says what came out of it."""
        if content is not None:
            self._span.set_attribute("output.value", content)

    def attribute(self, name: str, value: str | float) -> None:
        """Says something more about it. Who asked is not for components to say."""
        if name not in _IDENTITY:
            self._span.set_attribute(name, value)


class _Ids(RandomIdGenerator):
    """Gives a root the ids that were chosen for it, and every other span random ones."""

    def generate_trace_id(self) -> int:
        given = _given_ids.get()
        return given[0] if given else super().generate_trace_id()

    def generate_span_id(self) -> int:
        given = _given_ids.get()
        return given[1] if given else super().generate_span_id()


class _Collecting(SpanProcessor):
    """Keeps the spans that ended, by trace, until their trace is stored. What ends later is nobody's."""

    def __init__(self) -> None:
        self._ended: dict[int, list[ReadableSpan]] = {}

    def on_end(self, span: ReadableSpan) -> None:
        context = span.get_span_context()
        expected = self._ended.get(context.trace_id) if context is not None else None
        if expected is not None:
            expected.append(span)

    def expect(self, trace_id: str) -> None:
        self._ended[int(trace_id, 16)] = []

    def take(self, trace_id: str) -> list[ReadableSpan]:
        return self._ended.pop(int(trace_id, 16), [])


def _links(traceparent: str | None) -> list[Link]:
    if traceparent is None:
        return []
    context = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, Context())
    caller: SpanContext = api.get_current_span(context).get_span_context()
    remote = SpanContext(caller.trace_id, caller.span_id, is_remote=True, trace_flags=TraceFlags(caller.trace_flags))
    return [Link(remote)] if caller.is_valid else []
