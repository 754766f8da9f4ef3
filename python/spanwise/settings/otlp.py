"""The settings of the default ports of OpenTelemetry exporters."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from spanwise.settings.budgets import Budgets

GRPC_PORT = 4317
HTTP_PORT = 4318

Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]
"""A port; 0 disables it."""


def _port(what: str, default: int) -> Meta:
    return Meta(
        description=f"The port for OTLP over {what}; 0 is off.",
        extra={"default": f"`{default}`, and off with a warning if that is in use"},
    )


class OtlpSettings(Budgets, frozen=True, kw_only=True):
    """The ports for OTLP, in addition to the port of the service. None is the default port, if it is free."""

    otlp_grpc_port: Annotated[Port | None, _port("gRPC", GRPC_PORT)] = None
    otlp_http_port: Annotated[Port | None, _port("HTTP: `/v1/*`, `/api/public/otel/v1/*` and `/health`", HTTP_PORT)] = (
        None
    )
    otlp_grpc_certificate_file: Annotated[
        str,
        Meta(
            description="A PEM file with the certificate chain of the gRPC port; it then speaks TLS only.",
            extra={"default": "none"},
        ),
    ] = ""
    otlp_grpc_key_file: Annotated[
        str, Meta(description="A PEM file with the private key of that certificate.", extra={"default": "none"})
    ] = ""
