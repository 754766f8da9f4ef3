"""Agents, teams and workflows: our own, and any object that satisfies `Component`."""

from spanwise.components.adapting import as_component
from spanwise.components.agent import Agent
from spanwise.components.base import Kind, Outcome, Pause
from spanwise.components.call import Call, Component
from spanwise.components.team import Broadcast, Coordinate, Delegate, Route, Team
from spanwise.components.workflow import Condition, Step, Workflow

__all__ = [
    "Agent",
    "Broadcast",
    "Call",
    "Component",
    "Condition",
    "Coordinate",
    "Delegate",
    "Kind",
    "Outcome",
    "Pause",
    "Route",
    "Step",
    "Team",
    "Workflow",
    "as_component",
]
