"""Responses to OTLP requests.

Source: `docs/reference/api-otlp.md#responses`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType


class OtlpStatus(Struct, frozen=True):
    """The body of an OTLP error response: a `google.rpc.Status`."""

    code: Annotated[int, Meta(description="A gRPC status code.")]
    message: Annotated[str, Meta(description="The error message.")]


class ExportPartialSuccess(Struct, frozen=True, rename="camel"):
    """The rejected part of an OTLP request."""

    rejected_spans: Annotated[str, Meta(description="The number of rejected spans, as a string.")] = "0"
    error_message: Annotated[str, Meta(description="Why the first of them was rejected.")] = ""


class ExportResponse(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The response to an OTLP request that was stored, at least in part."""

    partial_success: ExportPartialSuccess | UnsetType = UNSET


class LogExportPartialSuccess(Struct, frozen=True, rename="camel"):
    """The rejected part of an OTLP request with log records."""

    rejected_log_records: Annotated[str, Meta(description="The number of rejected log records, as a string.")] = "0"
    error_message: Annotated[str, Meta(description="Why the first of them was rejected.")] = ""


class LogExportResponse(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The response to an OTLP request with log records."""

    partial_success: LogExportPartialSuccess | UnsetType = UNSET


class MetricExportResponse(Struct, frozen=True):
    """The response to an OTLP request with metrics."""
