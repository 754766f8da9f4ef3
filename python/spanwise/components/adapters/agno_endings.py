"""The last event of an agno run, made from its run output.

agno has no final event for a run without streaming, nor for a paused workflow.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeAlias

from agno.run import agent, team, workflow

RunOutputs: TypeAlias = agent.RunOutput | team.TeamRunOutput | workflow.WorkflowRunOutput

_EVENTS: dict[type, dict[str, Any]] = {
    agent.RunOutput: {
        "COMPLETED": agent.RunCompletedEvent,
        "PAUSED": agent.RunPausedEvent,
        "ERROR": agent.RunErrorEvent,
        "CANCELLED": agent.RunCancelledEvent,
    },
    team.TeamRunOutput: {
        "COMPLETED": team.RunCompletedEvent,
        "PAUSED": team.RunPausedEvent,
        "ERROR": team.RunErrorEvent,
        "CANCELLED": team.RunCancelledEvent,
    },
    workflow.WorkflowRunOutput: {
        "COMPLETED": workflow.WorkflowCompletedEvent,
        "PAUSED": workflow.WorkflowPausedEvent,
        "ERROR": workflow.WorkflowErrorEvent,
        "CANCELLED": workflow.WorkflowCancelledEvent,
    },
}
_OWN_MEMBERS = {"created_at", "event"}
"""The members of an event that a run output lacks or uses differently."""


def ending_event(output: RunOutputs) -> tuple[str, dict[str, Any]] | None:
    """Returns the status of a run and its final or pausing event; None if it neither ended nor paused.

    Args:
        output: agno's run output.
    """
    status = str(getattr(output.status, "value", output.status))
    event = _EVENTS[type(output)].get(status)
    if event is None:
        return None
    names = {field.name for field in fields(event)}
    members = {name: getattr(output, name) for name in names - _OWN_MEMBERS if hasattr(output, name)}
    if status != "PAUSED":
        members.pop("tools", None)  # only a pause has tools
    if status in {"ERROR", "CANCELLED"}:
        reason = {"error", "reason"} & names  # the output has the reason as its content
        members |= dict.fromkeys(reason, str(output.content))
    described: dict[str, Any] = event(**members).to_dict()
    return status, described
