"""A team: members, and the mode in which they work together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Unpack
from uuid import uuid4

from spanwise.components.adapting import as_component
from spanwise.components.answers import answers_to
from spanwise.components.base import Described, Kind, Members, Outcome, Pause
from spanwise.components.call import PausedPart
from spanwise.components.callables import call_arguments, ignore_text, stream, takes_call
from spanwise.components.execution import execute_nested
from spanwise.components.result import result_of
from spanwise.errors import ComponentError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from spanwise.components.call import Call, Component


Delegate: TypeAlias = "Callable[[str, str], Awaitable[str]]"
"""An async function that runs a member for a leader, given its id and a message. It returns the member's text."""


class Mode(Protocol):
    """How the members of a team work together.

    Attributes:
        name: the mode's name, for listings.
    """

    name: str

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Runs the members and returns the outcome of the team."""
        ...


class Team(Described):
    """Runs members. The mode decides which members run, and when.

    Attributes:
        kind: `Kind.TEAM`.
        members: the members by id.
        mode: how they work together.
    """

    kind = Kind.TEAM

    def __init__(self, members: Sequence[object], mode: Mode, **described: Unpack[Members]) -> None:
        """Creates a team.

        Args:
            members: agents and teams, our own or from a supported framework, with distinct ids.
            mode: `Route`, `Coordinate` or `Broadcast`.
            described: the description; see `Members`. The model is the leader's.

        Raises:
            ConfigurationError: there is no member, an id is missing or repeated, or a member is not an agent or team.
        """
        super().__init__(**described)
        self.members = {member.id: member for member in map(as_component, members)}
        if not self.members or len(self.members) < len(members) or "" in self.members:
            raise ConfigurationError(f"team `{self.id}`: expected one member or more, each with a unique id")
        for member in self.members.values():
            if member.kind is Kind.WORKFLOW:
                raise ConfigurationError(f"team `{self.id}`: expected agents and teams as members, got `{member.id}`")
        self.mode = mode

    def initialize(self) -> None:
        """Initializes the members."""
        for member in self.members.values():
            member.initialize()

    def describe(self) -> dict[str, Any]:
        """Returns the members `mode` and `members`."""
        members = [
            {"id": member.id, "name": member.name or member.id, **member.describe()} for member in self.members.values()
        ]
        return {"mode": self.mode.name, "members": members}

    async def execute(self, call: Call) -> Outcome:
        """Runs the members as the mode decides."""
        return await self.mode.lead(self, call)

    def paused_parts(self, state: Any) -> list[PausedPart]:  # noqa: ANN401  # any JSON
        """Returns the members that wait for answers; empty if the leader itself waits."""
        paused = self.mode.paused_members(state) if isinstance(self.mode, Route | Broadcast) else {}
        return [
            PausedPart(component=self.member(member_id), state=each["state"], requirement_ids=_requirement_ids(each))
            for member_id, each in paused.items()
        ]

    def member(self, member_id: object) -> Component:
        """Returns the member with an id.

        Raises:
            ComponentError: no member has this id.
        """
        if not isinstance(member_id, str) or member_id not in self.members:
            raise ComponentError(f"team `{self.id}` has no member `{member_id}`")
        return self.members[member_id]

    def emit_content(self, call: Call, outcome: Outcome) -> Outcome:
        """Emits the content of the team itself, unless it paused. Returns the outcome."""
        if outcome.pause is None:
            call.emit_text(self, outcome.content)
            call.emit(self, "*ContentCompleted")
        return outcome


@dataclass(frozen=True)
class MemberRun:
    """A completed or paused run of a member."""

    member: Component
    call: Call
    outcome: Outcome

    @property
    def response(self) -> dict[str, Any]:
        """Returns the member's result, which is part of the team's result."""
        return result_of(self.member, self.call, self.outcome, self.outcome.status)

    @cached_property
    def requirements(self) -> list[dict[str, Any]]:
        """Returns the requirements of the member, with the ids of the member and its run."""
        pause = self.outcome.pause
        ids = {"member_agent_id": self.member.id, "member_run_id": self.call.run_id}
        return [] if pause is None else [{"id": uuid4().hex, **each, **ids} for each in pause.requirements]

    @property
    def paused(self) -> dict[str, Any] | None:
        """Returns the state to resume the member from; None if it did not pause."""
        pause = self.outcome.pause
        if pause is None:
            return None
        requirement_ids = [each["id"] for each in self.requirements]
        return {"run_id": self.call.run_id, "state": pause.state, "requirement_ids": requirement_ids}


async def _run_member(
    team: Team, call: Call, member: Component, message: str, paused: dict[str, Any] | None = None
) -> MemberRun:
    inner = call.nested(team).with_message(message)
    if paused is not None:
        answers = answers_to(_requirement_ids(paused), call.answers)
        inner = inner.resumed(answers, paused["run_id"], paused["state"])
    return MemberRun(member, inner, await execute_nested(member, inner))


async def _run_concurrently(runs: Sequence[Coroutine[Any, Any, MemberRun]]) -> list[MemberRun]:
    """Returns all results. The first failure cancels the other runs and is raised without an exception group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run) for run in runs]
    except BaseExceptionGroup as failures:  # passes on the first failure, including a cancellation
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


def _requirement_ids(paused: dict[str, Any]) -> tuple[str, ...] | None:
    """Returns the ids of the requirements of a paused member; None for all, if an earlier version stored it."""
    found = paused.get("requirement_ids")
    return None if found is None else tuple(found)


class Route:
    """Runs one member and responds with its response."""

    name = "route"

    def __init__(self, choose: Callable[..., Any]) -> None:
        """Creates the mode.

        Args:
            choose: a function that returns a member's id. It takes the message, and optionally the `Call`.

        Raises:
            TypeError: `choose` cannot be called with one or two arguments.
        """
        self._choose = choose
        self._takes_call = takes_call(choose, 2)

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Chooses a member and runs it. After a pause, resumes the chosen member."""
        chosen = call.state["member"] if call.is_continued else await self._chosen(call)
        member = team.member(chosen)
        run = await _run_member(team, call, member, call.message, call.state["paused"] if call.is_continued else None)
        parts = {"member_responses": [run.response]}
        if run.paused is not None:
            state = {"member": member.id, "paused": run.paused}
            return Outcome(content=run.outcome.content, pause=Pause(run.requirements, state), parts=parts)
        return team.emit_content(call, Outcome(content=run.outcome.content, parts=parts))

    @staticmethod
    def paused_members(state: Any) -> dict[str, Any]:  # noqa: ANN401  # any JSON
        """Returns the pause of the chosen member, by its id."""
        return {state["member"]: state["paused"]}

    async def _chosen(self, call: Call) -> object:
        arguments = call_arguments(self._takes_call, call.message, call)
        return (await stream(self._choose, ignore_text, *arguments)).content


class Broadcast:
    """Runs every member with the message, concurrently, and combines their texts."""

    name = "broadcast"

    def __init__(self, combine: Callable[[dict[str, str]], str] | None = None) -> None:
        """Creates the mode.

        Args:
            combine: returns the team's text from the texts by member id; by default one paragraph per member.
        """
        self._combine = combine or (lambda texts: "\n\n".join(texts.values()))

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Runs every member that has not completed yet, and waits for all of them."""
        state = call.state if call.is_continued else {"done": [], "paused": {}}
        done: list[dict[str, Any]] = list(state["done"])
        waiting = {member_id: state["paused"].get(member_id) for member_id in team.members}
        waiting = {k: v for k, v in waiting.items() if k not in {entry["member"] for entry in done}}
        runs = await _run_concurrently(
            [
                _run_member(team, call, team.members[member_id], call.message, paused)
                for member_id, paused in waiting.items()
            ]
        )
        done += [
            {"member": run.member.id, "text": run.outcome.text or "", "response": run.response}
            for run in runs
            if run.paused is None
        ]
        parts = {"member_responses": [entry["response"] for entry in done]}
        pausing = [run for run in runs if run.paused is not None]
        if pausing:
            requirements = [requirement for run in pausing for requirement in run.requirements]
            paused = {run.member.id: run.paused for run in pausing}
            return Outcome(pause=Pause(requirements, {"done": done, "paused": paused}), parts=parts)
        texts = {entry["member"]: entry["text"] for entry in done}
        in_order = {member_id: texts[member_id] for member_id in team.members}
        return team.emit_content(call, Outcome(content=self._combine(in_order), parts=parts))

    @staticmethod
    def paused_members(state: Any) -> dict[str, Any]:  # noqa: ANN401  # any JSON
        """Returns the pauses of the members, by their ids."""
        found: dict[str, Any] = state["paused"]
        return found


class Coordinate:
    """Runs a leader. The leader runs members as it sees fit and writes the team's response."""

    name = "coordinate"

    def __init__(self, leader: Callable[..., Any]) -> None:
        """Creates the mode.

        Args:
            leader: an async function of the message and `delegate`, and optionally the `Call`. `await
                delegate(member_id, message)` returns the text of a member. The members cannot pause.

        Raises:
            TypeError: `leader` cannot be called with two or three arguments.
        """
        self._leader = leader
        self._takes_call = takes_call(leader, 3)

    async def lead(self, team: Team, call: Call) -> Outcome:
        """Runs the leader and emits an event for each piece of its text."""
        responses: list[dict[str, Any]] = []

        async def delegate(member_id: str, message: str) -> str:
            run = await _run_member(team, call, team.member(member_id), message)
            responses.append(run.response)
            if run.paused is not None:
                raise ComponentError(f"member `{member_id}` paused; a coordinating team does not support pauses")
            return run.outcome.text or ""

        async def on_text(piece: str) -> None:
            call.emit_text(team, piece)
            await call.caught_up()

        arguments = (call.message, delegate, call) if self._takes_call else (call.message, delegate)
        outcome = await stream(self._leader, on_text, *arguments)
        outcome.parts["member_responses"] = responses
        if outcome.pause is None:
            call.emit(team, "*ContentCompleted")
        return outcome
