"""What is kept of sessions and runs, and what a database must be able to do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

UNFINISHED = ("PENDING", "RUNNING")
"""The states in which a run needs the process that runs it."""


class SessionRecord(Struct, frozen=True, kw_only=True):
    """A conversation. It belongs to the user of its first run.

    Attributes:
        session_id: its id, unique in the database.
        user_id: whose it is; None for nobody's.
        kind: `agent`, `team` or `workflow`: what its first run was of.
        component_id: the component of its first run; None if it was created without.
        name: how its first message begins, unless somebody named it.
        state: what components remember in it.
        metadata: what clients remember about it.
        created_at: seconds since 1970.
        updated_at: likewise, of the last run that ended.
    """

    session_id: str
    user_id: str | None
    kind: str
    component_id: str | None
    name: str
    state: dict[str, Any]
    metadata: dict[str, Any]
    created_at: int
    updated_at: int


class SessionsAsked(Struct, frozen=True, kw_only=True):
    """Which sessions are listed. What is given is AND-ed.

    Attributes:
        user_id: of this user.
        kind: of this kind.
        component_id: of this component.
        name: with this text in their name, whatever the case.
        sort_by: what they are ordered by; of those that are equal, by session id, in the same direction.
        descending: whether the greatest comes first.
        skipped: how many come before the page.
        most: how many the page has.
    """

    user_id: str | None = None
    kind: str | None = None
    component_id: str | None = None
    name: str | None = None
    sort_by: Literal["created_at", "updated_at", "session_name"] = "created_at"
    descending: bool = True
    skipped: int = 0
    most: int = 100


class RunRecord(Struct, frozen=True, kw_only=True):
    """One run of one component.

    Attributes:
        run_id: its id.
        session_id: the conversation it belongs to.
        user_id: who asked for it.
        kind: `agent`, `team` or `workflow`.
        component_id: what ran.
        status: PENDING, RUNNING, COMPLETED, PAUSED, CANCELLED or ERROR.
        message: what it was asked.
        result: its result; what is known of it as long as it has none.
        paused: what the component needs to go on; None if it is not paused.
        trace: where its trace goes on: trace id, span id and start.
        created_at: seconds since 1970.
        updated_at: likewise, of the last change of its status.
    """

    run_id: str
    session_id: str
    user_id: str | None
    kind: str
    component_id: str
    status: str
    message: str
    result: dict[str, Any]
    paused: Any
    trace: dict[str, Any]
    created_at: int
    updated_at: int


@runtime_checkable
class Database(Protocol):
    """Where sessions, runs and events are kept. Every method blocks, and is called from one thread at a time.

    What a method has done is durable when it returns, or at the end of the block of `together` that it stands in.
    A database that is open is nobody else's: whoever opens it meanwhile is refused.
    """

    def open(self) -> list[RunRecord]:
        """Opens it, and returns the runs that nobody finished.

        Raises:
            ConfigurationError: it cannot be opened, or is of another version.
            StoreLockedError: another process has it open.
        """
        ...

    def close(self) -> None:
        """Closes it."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Makes what is done in the block durable at its end, all of it or nothing."""
        ...

    def session(self, session_id: str) -> SessionRecord | None:
        """Returns one session."""
        ...

    def sessions(self, asked: SessionsAsked) -> tuple[list[SessionRecord], int]:
        """Returns one page of sessions, and how many there are on all pages."""
        ...

    def add_session(self, session: SessionRecord) -> bool:
        """Adds a session; returns whether its id was free."""
        ...

    def change_session(self, session: SessionRecord) -> None:
        """Keeps a session as it is now."""
        ...

    def delete_session(self, session_id: str) -> None:
        """Removes a session, its runs and their events."""
        ...

    def run(self, run_id: str) -> RunRecord | None:
        """Returns one run."""
        ...

    def runs(self, session_id: str) -> list[RunRecord]:
        """Returns the runs of a session, the oldest first."""
        ...

    def begin(self, session: SessionRecord, run: RunRecord) -> SessionRecord:
        """Adds a run, and its session if that is new. Returns the session as it stands."""
        ...

    def move(self, run_id: str, before: Sequence[str], after: str) -> bool:
        """Changes the status of a run, if it is one of those expected. Returns whether it was."""
        ...

    def end(self, run: RunRecord, session_state: dict[str, Any] | None) -> None:
        """Keeps how a run ended or paused, and what its session remembers, if that is given."""
        ...

    def add_events(self, added: Sequence[tuple[str, int, str, bytes]]) -> None:
        """Adds events: run id, index, name and JSON of each. One that is there already stays as it is.

        Whether a commit was made is not always known: what was added may be added again.
        """
        ...

    def events(self, run_id: str, after: int, most: int) -> list[tuple[int, str, bytes]]:
        """Returns events of a run with a greater index, in order."""
        ...
