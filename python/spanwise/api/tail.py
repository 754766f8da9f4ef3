"""A tail: its request, and the data of its events.

Source: `docs/reference/api-search.md#tail`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct, field

from spanwise.api.filters import OptionalFilter
from spanwise.api.traces import TracePreview

EndReason = Literal["token_expired", "unauthorized", "shutdown", "replaced", "failed"]


class TailRequest(Struct, frozen=True):
    """The body of a tail. Unknown members are ignored."""

    filter: OptionalFilter = field(default_factory=lambda: Raw(b"null"))
    detail: Annotated[Literal["summary"], Meta(description="How much of each trace is shown.")] = "summary"


class TailStarted(Struct, frozen=True):
    """The data of the event `started`, which is the first one."""

    resumed: Annotated[bool, Meta(description="True if the stream continues after `Last-Event-ID`.")]


class TailTrace(TracePreview, frozen=True, kw_only=True, omit_defaults=True):
    """The data of the event `trace`. Missing values are omitted."""

    update: Annotated[bool, Meta(description="True if the stream has sent the trace before.")] = False


class TailDropped(Struct, frozen=True):
    """The data of the event `dropped`."""

    count: Annotated[int, Meta(ge=1, description="How many rows were dropped because the reader was slow.")]


class TailGap(Struct, frozen=True):
    """The data of the event `gap`: an unknown number of rows is missing."""


class TailEnd(Struct, frozen=True):
    """The data of the event `end`, which is the last one."""

    reason: Annotated[EndReason, Meta(description="Why the stream ends.")]
