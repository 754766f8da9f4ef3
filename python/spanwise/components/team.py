"""A team: members, and how they are coordinated."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Unpack

from spanwise.components.adapters import as_component
from spanwise.components.base import Described, Kind, Members, Outcome, Pause
from spanwise.components.callables import call_arguments, stream, takes_call, unheard
from spanwise.components.perform import perform_inside, response_of
from spanwise.errors import ComponentError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from spanwise.components.base import Component
    from spanwise.components.call import Call


Delegate: TypeAlias = "Callable[[str, str], Awaitable[str]]"
"""What a coordinating leader asks its members with: a member's id and a message give its answer."""


class Mode(Protocol):
    """How a team's members work together."""

    name: str

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Runs the members that the mode asks."""
        ...


class Team(Described):
    """Lets members answer, one of them, all of them, or as a leader asks.

    Attributes:
        kind: always a team.
    """

    kind = Kind.TEAM

    def __init__(self, members: Sequence[object], mode: Mode, **described: Unpack[Members]) -> None:
        """Describes a team.

        Args:
            members: agents and teams, ours or of a framework there is an adapter for, each with an id of its own.
            mode: `Route`, `Coordinate` or `Broadcast`.
            described: see `Members`; the model is its leader's.

        Raises:
            ConfigurationError: no member, one without an id, one id twice, or a member that is neither.
        """
        super().__init__(**described)
        self.members = {member.id: member for member in map(as_component, members)}
        if not self.members or len(self.members) < len(members) or "" in self.members:
            raise ConfigurationError(f"team `{self.id}`: expected one member or more, each with an id of its own")
        for member in self.members.values():
            if member.kind is Kind.WORKFLOW:
                raise ConfigurationError(f"team `{self.id}`: expected agents and teams as members, got `{member.id}`")
        self.mode = mode

    def initialize(self) -> None:
        """Prepares the members."""
        for member in self.members.values():
            member.initialize()

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows."""
        members = [
            {"id": member.id, "name": member.name or member.id, **member.describe()} for member in self.members.values()
        ]
        return {"mode": self.mode.name, "members": members}

    async def execute(self, call: Call) -> Outcome:
        """Lets the mode lead."""
        return await self.mode.lead(self, call)

    def member(self, member_id: object) -> Component:
        """Returns one member.

        Raises:
            ComponentError: there is none with that id.
        """
        if not isinstance(member_id, str) or member_id not in self.members:
            raise ComponentError(f"team `{self.id}` has no member `{member_id}`")
        return self.members[member_id]

    def say(self, call: Call, outcome: Outcome) -> Outcome:
        """Emits the team's own content and returns the outcome."""
        if outcome.pause is None:
            call.emit(self, "*Content", content=outcome.content, content_type="str")
            call.emit(self, "*ContentCompleted")
        return outcome


@dataclass(frozen=True)
class Asked:
    """A member that was asked, and what came of it."""

    member: Component
    call: Call
    outcome: Outcome

    @property
    def response(self) -> dict[str, Any]:
        """Returns its result, as it stands in the team's."""
        return response_of(self.member, self.call, self.outcome)

    @property
    def paused(self) -> dict[str, Any] | None:
        """Returns what is needed to go on with it; None if it did not pause."""
        pause = self.outcome.pause
        return None if pause is None else {"run_id": self.call.run_id, "state": pause.state}


async def _ask(team: Team, call: Call, member: Component, message: str, paused: dict[str, Any] | None = None) -> Asked:
    inner = call.inside(team).asking(message)
    if paused is not None:
        inner = inner.going_on(call.answers, paused["run_id"], paused["state"])
    return Asked(member, inner, await perform_inside(member, inner))


async def _together(asking: Sequence[Coroutine[Any, Any, Asked]]) -> list[Asked]:
    """Returns what came of all; the first failure ends the others and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in asking]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


def _requirements(asked: Asked) -> list[dict[str, Any]]:
    pause = asked.outcome.pause
    named = {"member_agent_id": asked.member.id, "member_run_id": asked.call.run_id}
    return [] if pause is None else [{**requirement, **named} for requirement in pause.requirements]


class Route:
    """One member answers, and its answer is the team's."""

    name = "route"

    def __init__(self, choose: Callable[..., Any]) -> None:
        """Takes a function of the message, and of the `Call` if it takes two, that returns a member's id."""
        self._choose = choose
        self._takes_call = takes_call(choose, 2)

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Chooses a member, once, and asks it."""
        chosen = call.state["member"] if call.is_continued else await self._chosen(call)
        member = team.member(chosen)
        asked = await _ask(team, call, member, call.message, call.state["paused"] if call.is_continued else None)
        parts = {"member_responses": [asked.response]}
        if asked.paused is not None:
            state = {"member": member.id, "paused": asked.paused}
            return Outcome(content=asked.outcome.content, pause=Pause(_requirements(asked), state), parts=parts)
        return team.say(call, Outcome(content=asked.outcome.content, parts=parts))

    async def _chosen(self, call: Call) -> object:
        arguments = call_arguments(self._takes_call, call.message, call)
        return (await stream(self._choose, unheard, *arguments)).content


class Broadcast:
    """Every member gets the message, at once; the answers become one."""

    name = "broadcast"

    def __init__(self, combine: Callable[[dict[str, str]], str] | None = None) -> None:
        """Takes what makes one answer of the answers by member id; one paragraph a member if not given."""
        self._combine = combine or (lambda answers: "\n\n".join(answers.values()))

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Asks every member that has not answered yet, and waits for all of them."""
        state = call.state if call.is_continued else {"done": [], "paused": {}}
        done: list[dict[str, Any]] = list(state["done"])
        waiting = {member_id: state["paused"].get(member_id) for member_id in team.members}
        waiting = {k: v for k, v in waiting.items() if k not in {entry["member"] for entry in done}}
        all_asked = await _together(
            [_ask(team, call, team.members[member_id], call.message, paused) for member_id, paused in waiting.items()]
        )
        done += [
            {"member": asked.member.id, "text": asked.outcome.text or "", "response": asked.response}
            for asked in all_asked
            if asked.paused is None
        ]
        parts = {"member_responses": [entry["response"] for entry in done]}
        pausing = [asked for asked in all_asked if asked.paused is not None]
        if pausing:
            needed = [requirement for asked in pausing for requirement in _requirements(asked)]
            paused = {asked.member.id: asked.paused for asked in pausing}
            return Outcome(pause=Pause(needed, {"done": done, "paused": paused}), parts=parts)
        answers = {entry["member"]: entry["text"] for entry in done}
        in_order = {member_id: answers[member_id] for member_id in team.members}
        return team.say(call, Outcome(content=self._combine(in_order), parts=parts))


class Coordinate:
    """A leader asks members what it likes, in any order, and says the last word itself."""

    name = "coordinate"

    def __init__(self, leader: Callable[..., Any]) -> None:
        """Takes an async function of the message and of `delegate`, and of the `Call` if it takes three.

        `await delegate(member_id, message)` returns a member's answer. A member of such a team cannot pause.
        """
        self._leader = leader
        self._takes_call = takes_call(leader, 3)

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Runs the leader."""
        responses: list[dict[str, Any]] = []

        async def delegate(member_id: str, message: str) -> str:
            asked = await _ask(team, call, team.member(member_id), message)
            responses.append(asked.response)
            if asked.paused is not None:
                raise ComponentError(f"member `{member_id}` paused, which a coordinating team cannot")
            return asked.outcome.text or ""

        async def on_text(piece: str) -> None:
            call.emit(team, "*Content", content=piece, content_type="str")
            await call.caught_up()

        arguments = (call.message, delegate, call) if self._takes_call else (call.message, delegate)
        outcome = await stream(self._leader, on_text, *arguments)
        outcome.parts["member_responses"] = responses
        if outcome.pause is None:
            call.emit(team, "*ContentCompleted")
        return outcome
