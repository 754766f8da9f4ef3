"""A run becomes one trace: spans of the OpenTelemetry SDK, stored as they end.

A run that pauses and goes on later is still one trace with one root: the root is sent again under its id, with
its first start and its last end, and the store keeps the later one. So it is with a span that takes long: it is
stored without an end first, and a crash leaves a tree. Where an instrumentor makes the root, it gets the ids and the
identity of the run all the same.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from opentelemetry import trace as api
from opentelemetry.context import Context, attach, detach, set_value
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from spanwise.traces.otlp import Verdict
from spanwise.traces.recording.proxy_tracer import hosting
from spanwise.traces.recording.span_processor import COLLECTED, Collected, Collecting
from spanwise.traces.recording.span_writer import Keeping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span

    from spanwise.traces.recording.proxy_tracer import Scope
    from spanwise.traces.service import Traces

MOST_ATTRIBUTES = 1024
KEEP_SECONDS = 0.25
"""How long after the end of a span the spans of its run are stored, if the run goes on."""
SETTLE_SECONDS = 0.1
"""How long spans may stay open when their run has ended. Frameworks leave generators behind, which end by and by."""
_IDENTITY = {"session.id", "gen_ai.conversation.id", "user.id"}
_given_ids: ContextVar[tuple[int, int] | None] = ContextVar("given_ids", default=None)


class Beginning(Struct, frozen=True):
    """Where a trace began; with it, a run that pauses goes on in the same trace.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: the root of the run, 16 hexadecimal digits.
        start: nanoseconds since 1970; 0 before the root began.
        name: the root's; an empty text if it is not known.
        parent: the caller's span that the root is inside of, 16 hexadecimal digits; empty if it is inside of none.
    """

    trace_id: str
    span_id: str
    start: int
    name: str = ""
    parent: str = ""


class Recorder:
    """Makes the traces of runs. It has a tracer provider of its own; that of the program stays as it is."""

    def __init__(self, traces: Traces, service_name: str, *, joins: bool = False) -> None:
        """Prepares to record.

        Args:
            traces: where traces go.
            service_name: who they are from.
            joins: whether a run goes on in its caller's trace, instead of having one that links to it.
        """
        self.joins = joins
        self.collecting = Collecting()
        resource = Resource({"service.name": service_name})
        self.keeping = Keeping(traces, resource)
        limits = SpanLimits(
            max_span_attributes=MOST_ATTRIBUTES, max_attribute_length=SpanLimits.UNSET, max_events=MOST_ATTRIBUTES
        )
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=resource,
            shutdown_on_exit=False,
            id_generator=_Ids(),
            span_limits=limits,
        )
        self._provider.add_span_processor(self.collecting)

    def begin(
        self,
        identity: Mapping[str, str | None],
        traceparent: str | None,
        before: Beginning | None,
    ) -> Recording:
        """Returns the recording of one run, or of one more part of it. Call it on the event loop.

        Args:
            identity: `session.id` and `user.id` as the service knows them; nothing that a component sets wins.
            traceparent: what the caller's trace context says; the run's trace links to it, or is part of it.
            before: where the trace began, if the run goes on after a pause.
        """
        return Recording(self._provider, identity, traceparent, before, self)


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
        caller = _caller(traceparent)
        is_part = recorder.joins and caller is not None and before is None
        self._links = [] if is_part or caller is None else [Link(caller)]
        session, user = identity.get("session.id"), identity.get("user.id")
        every = {"session.id": session, "gen_ai.conversation.id": session, "user.id": user}
        self._identity = {name: value for name, value in every.items() if value is not None}
        self.beginning = before or _new_beginning(caller if is_part else None)
        self._is_begun = False
        self._loop = asyncio.get_running_loop()
        self._collected = Collected(self._keep_soon)
        self._is_kept_soon = False
        self._keeping: asyncio.Task[None] | None = None
        self._shown: set[int] = set()
        self._has_ended = False

    @property
    def trace_id(self) -> str:
        """Returns the id of the trace, as searches know it."""
        return self.beginning.trace_id

    @contextmanager
    def span(self, name: str, kind: str, content: str | None, attributes: Mapping[str, Any]) -> Iterator[_OpenSpan]:
        """Opens a span inside the one that is open, the root first; its failure is recorded and passes on."""
        described = {**attributes, "openinference.span.kind": kind, **self._identity}
        if content is not None:
            described["input.value"] = content
        before = attach(set_value(COLLECTED, self._collected))
        try:
            with api.use_span(self._start(name, described), end_on_exit=True, record_exception=False) as span:
                try:
                    yield _OpenSpan(span)
                except BaseException as error:  # a cancelled span failed as well; the error is passed on
                    span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
                    span.record_exception(error)
                    raise
        finally:
            detach(before)

    @contextmanager
    def made_elsewhere(self, attributes: Mapping[str, Any]) -> Iterator[_NoSpan]:
        """Lets an instrumentor make the spans of the block; the first of them gets `attributes` as well."""
        with hosting(_Guests(self, attributes)):
            yield _NoSpan()

    def start_guest(self, scope: Scope, name: str, options: dict[str, Any]) -> Span:
        """Starts a span that an instrumentor makes; the first one of a run is its root."""
        options["attributes"] = {**(options["attributes"] or {}), **self._identity}
        options["context"] = set_value(COLLECTED, self._collected, options["context"])
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
        context, start = self._inside(known.parent), known.start or None
        fixed = {"context": context, "kind": SpanKind.SERVER, "links": self._links, "start_time": start}
        try:
            root = tracer.start_span(known.name or name, **{**options, **fixed})
        finally:
            _given_ids.reset(given)
        started: int = getattr(root, "start_time", 0) or 0
        self.beginning = Beginning(known.trace_id, known.span_id, started, known.name or name, known.parent)
        self._keep_soon()
        return root

    def _inside(self, parent: str) -> Context:
        """Returns the context of a span inside another one of the trace, or of none."""
        context = set_value(COLLECTED, self._collected, Context())
        if not parent:
            return context
        ids = int(self.trace_id, 16), int(parent, 16)
        outer = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        return api.set_span_in_context(NonRecordingSpan(outer), context)

    def interrupt(self, why: str, attributes: Mapping[str, Any], at: int) -> None:
        """Adds a span that says that the run was ended from outside.

        Args:
            why: its error.
            attributes: what is known of the run; for a trace that has nothing else.
            at: when, in nanoseconds since 1970.
        """
        context = self._inside(self.beginning.span_id)
        span = self._tracer.start_span("interrupted", context, attributes=attributes, start_time=at)
        span.set_status(Status(StatusCode.ERROR, why))
        span.end(at)

    def _keep_soon(self) -> None:
        """Has what ended stored soon, whatever thread it ended in."""
        if not self._is_kept_soon:
            self._is_kept_soon = True
            self._loop.call_soon_threadsafe(self._loop.call_later, KEEP_SECONDS, self._keep_now)

    def _keep_now(self) -> None:
        self._is_kept_soon = False
        if self._has_ended:
            return
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep())
        else:
            self._keep_soon()

    async def _keep(self) -> None:
        """Stores the spans that ended, and those that did not as they are, once."""
        ended = self._collected.take()
        under_way = {span.get_span_context().span_id: span for span in self._collected.under_way()}
        begun = [span for span_id, span in under_way.items() if span_id not in self._shown]
        self._shown = set(under_way)
        if not await self._recorder.keeping.keep(self.trace_id, [*ended, *begun], self._verdict(None)):
            self._collected.give_back(ended)

    async def end(self, failure: str | None = None) -> bool:
        """Stores the trace. Returns whether it can be found now.

        Args:
            failure: what the run failed of; the root says it if it says no failure itself.
        """
        until = time.monotonic() + SETTLE_SECONDS
        while self._collected.under_way() and time.monotonic() < until:  # noqa: ASYNC110  # ends in any thread
            await asyncio.sleep(SETTLE_SECONDS / 20)
        for span in self._collected.under_way():
            span.end()
        self._has_ended = True
        self._recorder.collecting.forget(self._collected)
        if self._keeping is not None:
            await asyncio.wait([self._keeping])
        return await self._recorder.keeping.keep(self.trace_id, self._collected.take(), self._verdict(failure))

    def _verdict(self, failure: str | None) -> Verdict:
        return Verdict(self._identity, self.beginning.span_id, failure)


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


def _new_beginning(caller: SpanContext | None) -> Beginning:
    ids = RandomIdGenerator()
    trace_id = ids.generate_trace_id() if caller is None else caller.trace_id
    parent = "" if caller is None else f"{caller.span_id:016x}"
    return Beginning(f"{trace_id:032x}", f"{ids.generate_span_id():016x}", 0, parent=parent)


def _caller(traceparent: str | None) -> SpanContext | None:
    """Returns the span that a caller says its request is part of; None if it says it wrongly, or nothing."""
    if traceparent is None:
        return None
    context = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, Context())
    caller: SpanContext = api.get_current_span(context).get_span_context()
    if not caller.is_valid:
        return None
    return SpanContext(caller.trace_id, caller.span_id, is_remote=True, trace_flags=TraceFlags(caller.trace_flags))
