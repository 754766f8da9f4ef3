"""OpenTelemetry set-up in one call, for programs that send traces: `configure` and `trace_context`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import TracerProvider

DEFAULT_URL = "http://127.0.0.1:7777"
_INSTALL = "pip install 'spanwise[tracing]'"

_configured: dict[tuple[str, str | None, str | None], TracerProvider] = {}
"""The provider by the arguments that configured it; empty at first."""


def configure(url: str = DEFAULT_URL, token: str | None = None, *, service_name: str | None = None) -> TracerProvider:
    """Sends the spans of this program to the service at `url`, and returns the tracer provider.

    A background thread sends spans in batches, and the rest when the program ends. The provider becomes the global one
    of OpenTelemetry. If the program has already set a global provider, that one also sends to the service. Calling this
    again with the same arguments has no effect.

    Args:
        url: the address of the service.
        token: the bearer token; it needs the scope `traces:write`.
        service_name: the `service` of the traces; by default `OTEL_SERVICE_NAME`. Ignored by an existing provider.

    Raises:
        ConfigurationError: the OpenTelemetry exporter is not installed, the address is not HTTP, the program has set a
            provider that cannot send spans, or this was called with other arguments before.
    """
    arguments = (url, token, service_name)
    if _configured:
        if _configured.get(arguments):
            return _configured[arguments]
        raise ConfigurationError("`configure` was called before with other arguments, expected one call")
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"expected an address like `{DEFAULT_URL}`, got `{url}`")
    try:
        from opentelemetry import trace  # noqa: PLC0415  # an extra
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        from spanwise.client.span_context import ContextProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            f"`configure` needs the OTLP exporter of OpenTelemetry, which is not installed: {_INSTALL}"
        ) from error
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        provider = TracerProvider(resource=Resource.create({"service.name": service_name} if service_name else None))
        trace.set_tracer_provider(provider)
    elif not isinstance(provider, TracerProvider):
        raise ConfigurationError(f"expected no provider of tracers or one of the SDK, got `{type(provider).__name__}`")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    exporter = OTLPSpanExporter(endpoint=f"{url.rstrip('/')}/v1/traces", headers=headers)
    provider.add_span_processor(ContextProcessor())
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _configured[arguments] = provider
    return provider


@contextmanager
def trace_context(*, session_id: str | None = None, user_id: str | None = None) -> Iterator[None]:
    """Sets the session and user of spans that start inside the block, in this thread or task and its children.

    Contexts nest: a missing value is inherited from the outer context.

    Raises:
        ConfigurationError: OpenTelemetry is not installed.
    """
    try:
        from spanwise.client.span_context import inside  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigurationError(f"`trace_context` needs OpenTelemetry, which is not installed: {_INSTALL}") from error
    with inside(session_id, user_id):
        yield
