"""The last event of a run of agno, made of its run output.

agno has no event for the end of a run that is not streamed, nor for a workflow that paused.
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
"""The members of an event that say something else in a run output, or nothing."""


def ending_event(output: RunOutputs) -> tuple[str, dict[str, Any]] | None:
    """Returns the status of a run and the event that it ended or paused with; None if it did neither.

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
        members.pop("tools", None)  # only a pause is about tools
    if status in {"ERROR", "CANCELLED"}:
        reason = {"error", "reason"} & names  # the output has it as its content
        members |= dict.fromkeys(reason, str(output.content))
    described: dict[str, Any] = event(**members).to_dict()
    return status, described
