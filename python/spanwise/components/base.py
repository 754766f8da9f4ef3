"""What every component has in common, and the seam at which those of other frameworks are joined.

Source: specification, "What the service does"; compat 4.2 for results.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable
from uuid import uuid4

import msgspec

from spanwise.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spanwise.components.call import Call


class Kind(StrEnum):
    """What a component is."""

    AGENT = "agent"
    TEAM = "team"
    WORKFLOW = "workflow"


class Pause:
    """What a component yields or returns when it cannot go on without an answer from its caller.

    The run is stored, and survives a restart. It goes on by a fresh call of the component, whose `Call` has the
    answers, and the state that was given here.
    """

    def __init__(self, requirements: Iterable[Mapping[str, Any]], state: object = None) -> None:
        """Describes what is needed.

        Args:
            requirements: what the caller has to answer, as JSON objects; each gets an `id` if it has none.
            state: what the component wants to know when it goes on; anything that JSON can hold.

        Raises:
            ValueError: no requirement, or something that JSON cannot hold.
        """
        now = int(time.time())
        self.requirements = [{"id": uuid4().hex, "created_at": now, **asked} for asked in requirements]
        self.state = state
        if not self.requirements:
            raise ValueError("a pause needs one requirement or more")
        try:
            msgspec.json.encode((self.requirements, state))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"a pause holds what JSON cannot: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Told:
    """What an adapted framework says of one run by itself.

    Attributes:
        status: COMPLETED, PAUSED, CANCELLED or ERROR; a failure that the framework caught is a status too.
        event: the event that it ends with; the members that every event has are added if they are missing.
        result: the members of its result.
        failure: what it failed of, for its trace; None if it did not.
    """

    status: str
    event: dict[str, Any]
    result: dict[str, Any]
    failure: str | None = None


@dataclass(kw_only=True)
class Outcome:
    """What became of one call of a component.

    Attributes:
        content: its output so far; text, or what JSON can hold.
        pause: what it waits for; None if it is done.
        parts: further members of the result, such as the responses of a team's members.
        told: what an adapted framework says by itself; None for a component of ours.
    """

    content: Any = None
    pause: Pause | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    told: Told | None = None

    @property
    def status(self) -> str:
        """Returns how the call ended, if nothing escaped it: the status of a run."""
        if self.told is not None:
            return self.told.status
        return "COMPLETED" if self.pause is None else "PAUSED"

    @property
    def text(self) -> str | None:
        """Returns the content as text."""
        return text_of(self.content)


@runtime_checkable
class Component(Protocol):
    """Anything that can be run.

    Attributes:
        kind: what it is.
        id: its handle in URL paths; forced to the factory's where a factory built it.
        name: its name, for people.
        description: what it is good for.
        db: where it keeps what it remembers; the service does not look into it.
        store_events: whether the events of its runs are part of their results.
        model: the model behind it, if there is one.
    """

    kind: Kind
    id: str
    name: str | None
    description: str | None
    db: Any
    store_events: bool
    model: str | None

    def initialize(self) -> None:
        """Prepares it, once, before its first run."""
        ...

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows of it beside its id, name and description."""
        ...

    async def execute(self, call: Call) -> Outcome:
        """Runs it, or goes on where it paused."""
        ...


class Members(TypedDict, total=False):
    """What an agent or a team is described by; all of it may be left out.

    Attributes:
        id: its handle in URL paths.
        name: its name, for people.
        description: what it is good for.
        model: the model behind it, for people and for its trace.
        db: where it keeps what it remembers; it is handed on as `call.db`.
        store_events: whether the events of its runs are part of their results.
    """

    id: str
    name: str | None
    description: str | None
    model: str | None
    db: Any
    store_events: bool


class Described:
    """What our agents and teams have in common; see `Members`."""

    def __init__(  # noqa: PLR0913  # one keyword for each member
        self,
        *,
        id: str = "",  # noqa: A002  # the word that every component uses
        name: str | None = None,
        description: str | None = None,
        model: str | None = None,
        db: Any = None,  # noqa: ANN401  # any database object
        store_events: bool = False,
    ) -> None:
        """Keeps what it is described by."""
        self.id = id
        self.name = name
        self.description = description
        self.model = model
        self.db = db
        self.store_events = store_events


def text_of(content: object) -> str | None:
    """Returns content as text: as it is, or as JSON.

    Raises:
        ComponentError: JSON cannot hold it.
    """
    if content is None or isinstance(content, str):
        return content
    return json_text(content)


def json_text(content: object) -> str:
    """Returns content as JSON.

    Raises:
        ComponentError: JSON cannot hold it.
    """
    try:
        return msgspec.json.encode(content).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ComponentError(f"a component returned what JSON cannot hold: {error}") from error


def plain(content: object) -> Any:  # noqa: ANN401  # whatever JSON can hold
    """Returns content as plain values: text, numbers, lists, objects.

    Raises:
        ComponentError: JSON cannot hold it.
    """
    return content if content is None or isinstance(content, str) else msgspec.json.decode(json_text(content))
