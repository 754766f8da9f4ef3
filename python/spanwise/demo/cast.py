"""The domains of the demo, with their agents, teams, workflows, tools and words.

Each file in `domains/` is one `Domain`. Its texts are templates. `{city}` stands for one of the domain's words. The
slots of `scene.draw_words` (`{count}`, `{amount}`, `{day}`, ...) stand for numbers and dates.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

Template = str | int | float | bool | list[str]

Framework = Literal["agno", "pydantic-ai", "genai-util"]


class DemoTool(msgspec.Struct, frozen=True):
    """A function that a model may call; `failures` are pairs of exception type and message."""

    name: str
    description: str
    arguments: dict[str, Template]
    result: dict[str, Template]
    failures: list[tuple[str, str]]

    @property
    def schema(self) -> dict[str, object]:
        """Returns the function schema that is sent to a model."""
        properties = {name: {"type": _json_type(template)} for name, template in self.arguments.items()}
        parameters = {"type": "object", "properties": properties, "required": list(self.arguments)}
        return {"name": self.name, "description": self.description, "parameters": parameters}


class DemoAgent(msgspec.Struct, frozen=True):
    """An agent with its role and its tools."""

    name: str
    framework: Framework
    role: str
    tools: list[str]


class DemoTeam(msgspec.Struct, frozen=True):
    """A team of agents whose leader delegates to the members."""

    name: str
    members: list[str]


class DemoStep(msgspec.Struct, frozen=True):
    """A step of a workflow: a plain function or an agent."""

    name: str
    kind: Literal["function", "agent"]
    agent: str = ""


class DemoWorkflow(msgspec.Struct, frozen=True):
    """Steps that run in order. Each gets the output of the step before it."""

    name: str
    description: str
    steps: list[DemoStep]


class Domain(msgspec.Struct, frozen=True):
    """A field of work, with all its components and texts."""

    service: str
    words: dict[str, list[str]]
    instructions: list[str]
    agents: list[DemoAgent]
    teams: list[DemoTeam]
    workflows: list[DemoWorkflow]
    planners: list[str]
    functions: list[str]
    tools: list[DemoTool]
    turns: list[tuple[str, str]]
    apology: str

    def agent(self, name: str) -> DemoAgent:
        """Returns the agent with this name."""
        return next(agent for agent in self.agents if agent.name == name)

    def tools_of(self, agent: DemoAgent) -> list[DemoTool]:
        """Returns the tools of `agent`."""
        return [tool for tool in self.tools if tool.name in agent.tools]


def _json_type(template: Template) -> str:
    if isinstance(template, bool):
        return "boolean"
    return "string" if isinstance(template, str) else "number"


def slug(name: str, separator: str = "-") -> str:
    """Returns `name` as an identifier: lower case, words joined by `separator`."""
    return separator.join(name.lower().split())


@cache
def domains() -> tuple[Domain, ...]:
    """Returns all domains, ordered by file name."""
    folder = files(__package__) / "domains"
    texts = sorted((file.name, file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".json"))
    return tuple(msgspec.json.decode(text, type=Domain) for _, text in texts)
