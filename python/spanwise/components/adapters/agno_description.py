"""What listings show of agno's agents, teams and workflows."""

from __future__ import annotations

from typing import Any

from agno.agent import Agent
from agno.team import Team

from spanwise.components.adapters.base import without_empty


def describe_agent(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent of agno
    """Returns the model, role, introduction and metadata of an agent."""
    members = without_empty(role=own.role, introduction=own.introduction, metadata=own.metadata)
    return {**_describe_model(own), **members}


def describe_team(own: Any) -> dict[str, Any]:  # noqa: ANN401  # a team of agno
    """Returns the model, role, mode and members of a team."""
    members = own.members if isinstance(own.members, list) else []
    described = [
        {
            **without_empty(id=member.id, name=member.name, description=member.description),
            **(describe_team(member) if isinstance(member, Team) else describe_agent(member)),
        }
        for member in members
        if isinstance(member, Agent | Team)
    ]
    mode = getattr(own.mode, "value", own.mode)
    return {**_describe_model(own), **without_empty(role=own.role, mode=mode, members=described)}


def describe_workflow(own: Any) -> dict[str, Any]:  # noqa: ANN401  # a workflow of agno
    """Returns the steps of a workflow, and whether an agent runs it."""
    steps = own.steps if isinstance(own.steps, list) else []
    named = [{"name": _name_of(step), "type": type(step).__name__} for step in steps]
    return {"steps": named, "workflow_agent": getattr(own, "agent", None) is not None}


def _describe_model(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent or a team of agno
    model = own.model
    if model is None or isinstance(model, str):
        return without_empty(model=model and {"model": model})
    return {"model": without_empty(name=model.name, model=model.id, provider=model.provider)}


def _name_of(step: object) -> str:
    return str(getattr(step, "name", None) or getattr(step, "__name__", type(step).__name__))
