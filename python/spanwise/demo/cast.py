"""Who acts in the demo: domains with their agents, teams, workflows, tools and words.

Each file in `domains/` is one `Domain`. A text there is a template: `{city}` stands for one of the
domain's words, and the slots of `scene.draw_words` (`{count}`, `{amount}`, `{day}`, ...) for numbers.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

Template = str | int | float | bool | list[str]

Framework = Literal["agno", "pydantic-ai", "genai-util"]


class Tool(msgspec.Struct, frozen=True):
    """A function a model may call; `failures` are pairs of an exception's type and its message."""

    name: str
    description: str
    arguments: dict[str, Template]
    result: dict[str, Template]
    failures: list[tuple[str, str]]

    @property
    def schema(self) -> dict[str, object]:
        """The tool as a model is told of it."""
        properties = {name: {"type": _json_type(template)} for name, template in self.arguments.items()}
        parameters = {"type": "object", "properties": properties, "required": list(self.arguments)}
        return {"name": self.name, "description": self.description, "parameters": parameters}


class Agent(msgspec.Struct, frozen=True):
    """An agent: what it is called, what it does, and the tools it has."""

    name: str
    framework: Framework
    role: str
    tools: list[str]


class Team(msgspec.Struct, frozen=True):
    """A team of agents, led by a model that delegates."""

    name: str
    members: list[str]


class Step(msgspec.Struct, frozen=True):
    """A step of a workflow: a plain function or an agent."""

    name: str
    kind: Literal["function", "agent"]
    agent: str = ""


class Workflow(msgspec.Struct, frozen=True):
    """Steps that run one after another, each on the output of the one before."""

    name: str
    description: str
    steps: list[Step]


class Domain(msgspec.Struct, frozen=True):
    """A field of work, and everything that is said and done in it."""

    service: str
    words: dict[str, list[str]]
    instructions: list[str]
    agents: list[Agent]
    teams: list[Team]
    workflows: list[Workflow]
    planners: list[str]
    functions: list[str]
    tools: list[Tool]
    turns: list[tuple[str, str]]
    apology: str

    def agent(self, name: str) -> Agent:
        """Returns the agent called `name`."""
        return next(agent for agent in self.agents if agent.name == name)

    def tools_of(self, agent: Agent) -> list[Tool]:
        """Returns the tools that `agent` has."""
        return [tool for tool in self.tools if tool.name in agent.tools]


def _json_type(template: Template) -> str:
    if isinstance(template, bool):
        return "boolean"
    return "string" if isinstance(template, str) else "number"


def slug(name: str, joint: str = "-") -> str:
    """Returns `name` as an identifier: lower case, words joined by `joint`."""
    return joint.join(name.lower().split())


@cache
def domains() -> tuple[Domain, ...]:
    """Returns every domain, in the order of their files' names."""
    folder = files(__package__) / "domains"
    texts = sorted((file.name, file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".json"))
    return tuple(msgspec.json.decode(text, type=Domain) for _, text in texts)
