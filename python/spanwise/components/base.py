"""Kinds, outcomes, pauses and descriptions of components.

See docs/reference/api-runs.md#run-results.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import uuid4

import msgspec

from spanwise.components.content import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Kind(StrEnum):
    """The kinds of component."""

    AGENT = "agent"
    TEAM = "team"
    WORKFLOW = "workflow"


class Pause:
    """Yielded or returned by a component that needs answers from its caller to continue.

    The run is stored and survives a restart. It resumes with a new call of the component, whose `Call` has the answers
    and this state.

    Attributes:
        requirements: the questions to the caller, each with an `id`.
        state: a value that the component needs to resume.
    """

    def __init__(self, requirements: Iterable[Mapping[str, Any]], state: object = None) -> None:
        """Creates a pause.

        Args:
            requirements: the questions to the caller, as JSON objects; a missing `id` is added.
            state: a value that the component needs to resume; it must be representable as JSON.

        Raises:
            ValueError: there is no requirement, or a value cannot be represented as JSON.
        """
        now = int(time.time())
        self.requirements = [{"id": uuid4().hex, "created_at": now, **each} for each in requirements]
        self.state = state
        if not self.requirements:
            raise ValueError("a pause needs one requirement or more")
        try:
            msgspec.json.encode((self.requirements, state))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"a pause contains values that JSON cannot represent: {error}") from error


@dataclass(frozen=True, kw_only=True)
class ReportedOutcome:
    """The outcome of one call as an adapted framework reports it.

    Attributes:
        status: COMPLETED, PAUSED, CANCELLED or ERROR; an exception that the framework caught is an ERROR.
        event: the last event of the call; missing common members are added.
        result: the members of the result.
        failure: the reason of a failure for the trace; None if the call did not fail.
    """

    status: str
    event: dict[str, Any]
    result: dict[str, Any]
    failure: str | None = None


@dataclass(kw_only=True)
class Outcome:
    """The outcome of one call of a component.

    Attributes:
        content: the output so far; text, or any JSON value.
        pause: the pause of the call; None if it is complete.
        parts: further members of the result, such as the responses of a team's members.
        reported: the outcome as an adapted framework reports it; None for our own components.
    """

    content: Any = None
    pause: Pause | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    reported: ReportedOutcome | None = None

    @property
    def status(self) -> str:
        """Returns the status of a run that ends with this outcome: COMPLETED, PAUSED, CANCELLED or ERROR."""
        if self.reported is not None:
            return self.reported.status
        return "COMPLETED" if self.pause is None else "PAUSED"

    @property
    def text(self) -> str | None:
        """Returns the content as text.

        Raises:
            ComponentError: the content cannot be represented as JSON.
        """
        return text_of(self.content)


class Members(TypedDict, total=False):
    """The optional arguments that describe an agent or a team.

    Attributes:
        id: its id in URL paths.
        name: its display name.
        description: its purpose, shown to users.
        model: the name of its model, shown to users and recorded in its traces.
        db: its own database, passed to it as `call.db`.
        store_events: whether the results of its runs include their events.
    """

    id: str
    name: str | None
    description: str | None
    model: str | None
    db: Any
    store_events: bool


class Described:
    """The base class of our agents and teams; see `Members` for its attributes."""

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
        """Stores the description."""
        self.id = id
        self.name = name
        self.description = description
        self.model = model
        self.db = db
        self.store_events = store_events
