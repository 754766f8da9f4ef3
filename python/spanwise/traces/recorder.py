"""A run becomes one trace: spans of the OpenTelemetry SDK, exported straight into the store.

A run that pauses and goes on later is still one trace with one root: the root is sent again under its id, with
its first start and its last end, and the store keeps the later one. Where an instrumentor makes the root, it gets
the ids and the identity of the run all the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
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
from spanwise.traces.guests import hosting
from spanwise.traces.otlp import CONTENT_TYPE, Verdict, export_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace import Span as SdkSpan
    from opentelemetry.trace import Span

    from spanwise.traces.guests import Scope
    from spanwise.traces.service import Traces

MOST_ATTRIBUTES = 1024
SETTLE_SECONDS = 0.1
"""How long spans may stay open when their run has ended. Frameworks leave generators behind, which end by and by."""

_IDENTITY = {"session.id", "gen_ai.conversation.id", "user.id"}
_given_ids: ContextVar[tuple[int, int] | None] = ContextVar("given_ids", default=None)
_log = logging.getLogger(__name__)


class Beginning(Struct, frozen=True):
    """Where a trace began; with it, a run that pauses goes on in the same trace.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: the root, 16 hexadecimal digits.
        start: nanoseconds since 1970.
        name: the root's; an empty text if it is not known.
    """

    trace_id: str
    span_id: str
    start: int
    name: str = ""


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
        recording = Recording(self._provider, identity, traceparent, before, self)
        self._collecting.expect(recording.trace_id)
        return recording

    async def keep(self, trace_id: str, verdict: Verdict) -> bool:
        """Stores the spans of a trace that ended. Returns whether they can be found now.

        Args:
            trace_id: the trace.
            verdict: what the service knows of it; it wins over what a component said.
        """
        until = time.monotonic() + SETTLE_SECONDS
        while self._collecting.open(trace_id) and time.monotonic() < until:  # noqa: ASYNC110  # ends in any thread
            await asyncio.sleep(SETTLE_SECONDS / 20)
        spans = self._collecting.take(trace_id)
        if not spans:
            return True
        try:
            body = export_of(spans, self._provider.resource, verdict)
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
        provider: TracerProvider,
        identity: Mapping[str, str | None],
        traceparent: str | None,
        before: Beginning | None,
        recorder: Recorder,
    ) -> None:
        """Prepares the root; see `Recorder.begin`."""
        self._provider = provider
        self._tracer = provider.get_tracer("spanwise")
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

    @contextmanager
    def made_elsewhere(self, attributes: Mapping[str, Any]) -> Iterator[_NoSpan]:
        """Lets an instrumentor make the spans of the block; the first of them gets `attributes` as well."""
        with hosting(_Guests(self, attributes)):
            yield _NoSpan()

    def start_guest(self, scope: Scope, name: str, options: dict[str, Any]) -> Span:
        """Starts a span that an instrumentor makes; the first one of a run is its root."""
        options["attributes"] = {**(options["attributes"] or {}), **self._identity}
        tracer = self._provider.get_tracer(*scope)
        return tracer.start_span(name, **options) if self._is_begun else self._start_root(tracer, name, options)

    def _start(self, name: str, attributes: dict[str, Any]) -> Span:
        if self._is_begun:
            return self._tracer.start_span(name, attributes=attributes)
        return self._start_root(self._tracer, name, {"attributes": attributes})

    def _start_root(self, tracer: api.Tracer, name: str, options: Mapping[str, Any]) -> Span:
        self._is_begun = True
        known = self.beginning
        given = _given_ids.set((int(known.trace_id, 16), int(known.span_id, 16)))
        fixed = {"context": Context(), "kind": SpanKind.SERVER, "links": self._links, "start_time": known.start or None}
        try:
            root = tracer.start_span(known.name or name, **{**options, **fixed})
        finally:
            _given_ids.reset(given)
        started: int = getattr(root, "start_time", 0) or 0
        self.beginning = Beginning(known.trace_id, known.span_id, started, known.name or name)
        return root

    async def end(self, failure: str | None = None) -> bool:
        """Stores the trace. Returns whether it can be found now.

        Args:
            failure: what the run failed of; the root says it if it says no failure itself.
        """
        return await self._recorder.keep(self.trace_id, Verdict(self._identity, self.beginning.span_id, failure))


class _Guests:
    """The spans that instrumentors make of one component of a run."""

    def __init__(self, recording: Recording, attributes: Mapping[str, Any]) -> None:
        self._recording = recording
        self._first = dict(attributes)

    def start_guest(self, scope: Scope, name: str, options: dict[str, Any]) -> Span:
        first, self._first = self._first, {}
        options["attributes"] = {**(options["attributes"] or {}), **first}
        return self._recording.start_guest(scope, name, options)


class _NoSpan:
    """Stands where a span would, if an instrumentor makes it and says itself what is to be said of it."""

    def output(self, content: str | None) -> None:
        """Says nothing."""

    def attribute(self, name: str, value: str | float) -> None:
        """Says nothing."""


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
    """Keeps the spans of every trace that is recorded, until it is stored. What begins later is nobody's."""

    def __init__(self) -> None:
        self._begun: dict[int, list[SdkSpan]] = {}

    def on_start(self, span: SdkSpan, parent_context: Context | None = None) -> None:  # noqa: ARG002  # the SDK's
        expected = self._begun.get(span.get_span_context().trace_id)
        if expected is not None:
            expected.append(span)

    def expect(self, trace_id: str) -> None:
        self._begun[int(trace_id, 16)] = []

    def open(self, trace_id: str) -> bool:
        """Returns whether a span of the trace has not ended."""
        return any(span.is_recording() for span in self._begun[int(trace_id, 16)])

    def take(self, trace_id: str) -> list[ReadableSpan]:
        """Returns the spans of the trace; those that are still open end now."""
        spans = self._begun.pop(int(trace_id, 16), [])
        for span in spans:
            if span.is_recording():
                span.end()
        return list(spans)


def _links(traceparent: str | None) -> list[Link]:
    if traceparent is None:
        return []
    context = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, Context())
    caller: SpanContext = api.get_current_span(context).get_span_context()
    remote = SpanContext(caller.trace_id, caller.span_id, is_remote=True, trace_flags=TraceFlags(caller.trace_flags))
    return [Link(remote)] if caller.is_valid else []
