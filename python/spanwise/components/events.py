"""The names of run events, and the members whose names depend on the kind of component.

See docs/reference/api-runs.md#run-events.
"""

from __future__ import annotations

from spanwise.components.base import Kind

_PREFIXES = {Kind.AGENT: "Run", Kind.TEAM: "TeamRun", Kind.WORKFLOW: "Workflow"}
_STATUSES = {"Completed": "COMPLETED", "Paused": "PAUSED", "Error": "ERROR", "Cancelled": "CANCELLED"}


def event_name(kind: Kind, event: str) -> str:
    """Returns the name of an event. A `*` in it stands for the prefix of the component's kind."""
    return event.replace("*", _PREFIXES[kind])


def status_after(kind: Kind, event: str) -> str | None:
    """Returns the status of a run after an event that ends or pauses it; None after any other event."""
    prefix = _PREFIXES[kind]
    return _STATUSES.get(event.removeprefix(prefix)) if event.startswith(prefix) else None


def is_text_chunk(event: str) -> bool:
    """Returns whether an event is a piece of the text of an agent or a team."""
    return event.endswith("RunContent")


def failure_member(kind: Kind) -> str:
    """Returns the member of an error event that holds the message."""
    return "error" if kind is Kind.WORKFLOW else "content"


def requirements_member(kind: Kind) -> str:
    """Returns the member that holds the requirements of a paused run."""
    return "step_requirements" if kind is Kind.WORKFLOW else "requirements"
