"""The tracer provider for instrumentors of other frameworks. It sends each span to the run that created it.

An instrumentor is enabled once per process, with one tracer provider. This provider looks up the current run in the
OpenTelemetry context. That separates concurrent runs, and services in the same process. Outside of a run, spans go to
the program's own tracer provider.
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
"""Name and version of an instrumentation scope."""

_TARGET_KEY = contexts.create_key("spanwise-proxy-target")


class ProxyTarget(Protocol):
    """The part of a run's recording that the proxy tracer uses."""

    def start_proxy_span(self, scope: Scope, name: str, options: dict[str, Any]) -> Span:
        """Starts a span in the trace of the run.

        Args:
            scope: the instrumentor.
            name: the span's name.
            options: the keyword arguments of `Tracer.start_span`.
        """
        ...


@contextmanager
def proxying_to(target: ProxyTarget) -> Iterator[None]:
    """Sends the spans that instrumentors start inside the block to `target`."""
    token = contexts.attach(contexts.set_value(_TARGET_KEY, target))
    try:
        yield
    finally:
        contexts.detach(token)


class ProxyTracerProvider(api.TracerProvider):
    """Provides proxy tracers."""

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> api.Tracer:
        """Returns a tracer that looks up the run of each span when the span starts."""
        fallback = api.get_tracer(
            instrumenting_module_name, instrumenting_library_version, schema_url=schema_url, attributes=attributes
        )
        return _ProxyTracer((instrumenting_module_name, instrumenting_library_version), fallback)


class _ProxyTracer(api.Tracer):
    def __init__(self, scope: Scope, fallback: api.Tracer) -> None:
        self._scope = scope
        self._fallback = fallback

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
        target: Any = contexts.get_value(_TARGET_KEY, context)
        if target is None:
            return self._fallback.start_span(name, **options)
        span: Span = target.start_proxy_span(self._scope, name, options)
        return span

    @contextmanager
    def start_as_current_span(  # type: ignore[override]  # noqa: PLR0913, PLR0917  # OpenTelemetry also uses a private decorator
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


PROXY_PROVIDER = ProxyTracerProvider()
"""The only proxy provider of this process."""
