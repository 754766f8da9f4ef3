"""Messages of clients over a WebSocket of workflows.

Source: `docs/sockets.md#actions`.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

MAX_EVENT_INDEX = 2**53
"""The greatest event index: JavaScript represents it exactly, and a database can store it."""


class ActionMessage(Struct, frozen=True, kw_only=True):
    """The members that every message may have. Unknown members are ignored."""

    workflow_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None


class StartMessage(ActionMessage, frozen=True, kw_only=True):
    """Starts a run."""

    message: str
    factory_input: Any = None
    session_state: Any = None
    dependencies: Any = None
    metadata: Any = None
    stream_events: bool = True


class ContinueMessage(ActionMessage, frozen=True, kw_only=True):
    """Continues a paused run."""

    run_id: str
    step_requirements: tuple[dict[str, Any], ...] = ()
    factory_input: Any = None
    stream_events: bool = True


class ReconnectMessage(ActionMessage, frozen=True, kw_only=True):
    """Follows a run again, from the last event that the client has."""

    run_id: str
    last_event_index: Annotated[int, Meta(le=MAX_EVENT_INDEX)] | None = None


class CancelMessage(ActionMessage, frozen=True, kw_only=True):
    """Cancels a run."""

    run_id: str
