"""A run becomes one trace: spans of the OpenTelemetry SDK, stored as they end.

A run that pauses and goes on later is still one trace with one root: the root is sent again under its id, with
its first start and its last end, and the store keeps the later one. So it is with a span that takes long: it is
stored without an end first, and a crash leaves a tree.
"""

from __future__ import annotations

import asyncio
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

from spanwise.traces.collecting import COLLECTED, Collected, Collecting
from spanwise.traces.keeping import Keeping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span

    from spanwise.traces.service import Traces

MOST_ATTRIBUTES = 1024
KEEP_SECONDS = 0.25
"""How long after the end of a span the spans of its run are stored, if the run goes on."""
_IDENTITY = {"session.id", "gen_ai.conversation.id", "user.id"}
_given_ids: ContextVar[tuple[int, int] | None] = ContextVar("given_ids", default=None)


class Beginning(Struct, frozen=True):
    """Where a trace began; with it, a run that pauses goes on in the same trace.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: the root of the run, 16 hexadecimal digits.
        start: nanoseconds since 1970; 0 before the root began.
        parent: the caller's span that the root is inside of, 16 hexadecimal digits; empty if it is inside of none.
    """

    trace_id: str
    span_id: str
    start: int
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
        return Recording(self._provider.get_tracer("spanwise"), identity, traceparent, before, self)


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
                except BaseException as error:
                    span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
                    span.record_exception(error)
                    raise
        finally:
            detach(before)

    def _start(self, name: str, attributes: dict[str, Any]) -> Span:
        if self._is_begun:
            return self._tracer.start_span(name, attributes=attributes)
        self._is_begun = True
        began = self.beginning
        given = _given_ids.set((int(began.trace_id, 16), int(began.span_id, 16)))
        try:
            context, start = self._inside(began.parent), began.start or None
            root = self._tracer.start_span(
                name, context, SpanKind.SERVER, attributes=attributes, links=self._links, start_time=start
            )
        finally:
            _given_ids.reset(given)
        started: int = getattr(root, "start_time", 0) or 0
        self.beginning = Beginning(began.trace_id, began.span_id, started, began.parent)
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
        if not await self._recorder.keeping.keep(self.trace_id, [*ended, *begun], self._identity):
            self._collected.give_back(ended)

    async def end(self) -> bool:
        """Stores the trace. Returns whether it can be found now."""
        self._has_ended = True
        self._recorder.collecting.forget(self._collected)
        if self._keeping is not None:
            await asyncio.wait([self._keeping])
        return await self._recorder.keeping.keep(self.trace_id, self._collected.take(), self._identity)


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
    return Beginning(f"{trace_id:032x}", f"{ids.generate_span_id():016x}", 0, parent)


def _caller(traceparent: str | None) -> SpanContext | None:
    """Returns the span that a caller says its request is part of; None if it says it wrongly, or nothing."""
    if traceparent is None:
        return None
    context = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, Context())
    caller: SpanContext = api.get_current_span(context).get_span_context()
    if not caller.is_valid:
        return None
    return SpanContext(caller.trace_id, caller.span_id, is_remote=True, trace_flags=TraceFlags(caller.trace_flags))
