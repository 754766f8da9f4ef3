"""The settings of processes that only read a store."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from spanwise.settings.otlp import OtlpSettings


class ReaderSettings(OtlpSettings, frozen=True, kw_only=True):
    """The settings for following the stores of another process."""

    reader: Annotated[
        bool,
        Meta(description="Only read: follow the trace stores that another process writes to, and host no components."),
    ] = False
    writer_url: Annotated[
        str,
        Meta(
            description="Of a reader: the address of the writer, which is named to clients that want to write.",
            extra={"default": "none"},
        ),
    ] = ""
    follow_seconds: Annotated[
        float, Meta(ge=0.01, le=60, description="Of a reader: the time between two looks at a store.")
    ] = 0.25
    max_lag_seconds: Annotated[
        float,
        Meta(gt=0, description="Of a reader: how old its answers may be; above this, it is not ready."),
    ] = 30.0
