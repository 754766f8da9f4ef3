"""Where the spans go that an instrumentor makes of another framework: into the trace of the run they belong to.

An instrumentor is switched on once in a process and given one tracer provider. Ours asks the OpenTelemetry context
which run it is inside, so that runs at the same time and services in the same process stay apart. Outside of runs,
spans go where the program's own tracer provider sends them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from opentelemetry import context as contexts
from opentelemetry import trace as api

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, SpanKind
    from opentelemetry.util.types import Attributes

Scope: TypeAlias = "tuple[str, str | None]"
"""Name and version of an instrumentor."""

_RUN = contexts.create_key("spanwise-run")


class Host(Protocol):
    """The trace of a run that is under way."""

    def start_guest(self, scope: Scope, name: str, options: dict[str, Any]) -> Span:
        """Starts a span in it; the options are those of `Tracer.start_span`."""
        ...


@contextmanager
def hosting(host: Host) -> Iterator[None]:
    """Lets the spans that instrumentors make inside the block go to `host`."""
    token = contexts.attach(contexts.set_value(_RUN, host))
    try:
        yield
    finally:
        contexts.detach(token)


class GuestProvider(api.TracerProvider):
    """The tracer provider that instrumentors are given."""

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> api.Tracer:
        """Returns a tracer; which run its spans belong to is found when each begins."""
        elsewhere = api.get_tracer(
            instrumenting_module_name, instrumenting_library_version, schema_url=schema_url, attributes=attributes
        )
        return _GuestTracer((instrumenting_module_name, instrumenting_library_version), elsewhere)


class _GuestTracer(api.Tracer):
    def __init__(self, scope: Scope, elsewhere: api.Tracer) -> None:
        self._guest_scope = scope
        self._guest_elsewhere = elsewhere

    def start_span(  # noqa: PLR0913, PLR0917  # the signature of OpenTelemetry
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = api.SpanKind.INTERNAL,
        attributes: Attributes = None,
        links: Sequence[Link] | None = (),
        start_time: int | None = None,
        record_exception: bool = True,  # noqa: FBT001, FBT002  # likewise
        set_status_on_exception: bool = True,  # noqa: FBT001, FBT002  # likewise
    ) -> Span:
        options: dict[str, Any] = {
            "context": context,
            "kind": kind,
            "attributes": attributes,
            "links": links,
            "start_time": start_time,
            "record_exception": record_exception,
            "set_status_on_exception": set_status_on_exception,
        }
        host: Any = contexts.get_value(_RUN, context)
        if host is None:
            return self._guest_elsewhere.start_span(name, **options)
        span: Span = host.start_guest(self._guest_scope, name, options)
        return span

    @contextmanager
    def start_as_current_span(  # type: ignore[override]  # noqa: PLR0913, PLR0917  # theirs is a private decorator too
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = api.SpanKind.INTERNAL,
        attributes: Attributes = None,
        links: Sequence[Link] | None = (),
        start_time: int | None = None,
        record_exception: bool = True,  # noqa: FBT001, FBT002  # likewise
        set_status_on_exception: bool = True,  # noqa: FBT001, FBT002  # likewise
        end_on_exit: bool = True,  # noqa: FBT001, FBT002  # likewise
    ) -> Iterator[Span]:
        span = self.start_span(name, context, kind, attributes, links, start_time)
        with api.use_span(span, end_on_exit, record_exception, set_status_on_exception) as current:
            yield current


PROVIDER = GuestProvider()
"""The one provider of this process."""
