"""The records of sessions and runs, and the protocol of a database that stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

UNFINISHED = ("PENDING", "RUNNING")
"""The statuses of a run that depends on the process that runs it."""
STATUSES = (*UNFINISHED, "COMPLETED", "PAUSED", "CANCELLED", "ERROR")
KINDS = ("agent", "team", "workflow")


class SessionKey(NamedTuple):
    """What identifies a session: every user has session ids of their own.

    Attributes:
        owner: the user it belongs to; empty for nobody.
        session_id: its id among the sessions of that user.
    """

    owner: str
    session_id: str


class SessionRecord(Struct, frozen=True, kw_only=True):
    """A session: a series of runs. It belongs to the user of its first run.

    Attributes:
        session_id: its id, unique among the sessions of its user.
        user_id: the user it belongs to; None for nobody.
        is_first: whether its id was free when it was added, which the database decides; see `unique_session_id`.
        kind: `agent`, `team` or `workflow`: the kind of component of its first run.
        component_id: the component of its first run; None if it was added without one.
        name: the beginning of its first message, unless a caller named it.
        state: what components store in it; None if nobody gave it a state yet, so that a component's own database may
            have one from before.
        metadata: what clients note about it.
        created_at: when it was added, in seconds since 1970.
        updated_at: when its last run ended, or it was changed, in seconds since 1970.
        is_damaged: whether its row is not as it was stored. Then it has no name, component, state and metadata.
    """

    session_id: str
    user_id: str | None
    is_first: bool = True
    kind: str
    component_id: str | None
    name: str
    state: dict[str, Any] | None
    metadata: dict[str, Any]
    created_at: int
    updated_at: int
    is_damaged: bool = False

    @property
    def key(self) -> SessionKey:
        """Returns what identifies it."""
        return SessionKey(self.user_id or "", self.session_id)


class SessionPageQuery(Struct, frozen=True, kw_only=True):
    """A query for one page of sessions. The given conditions are AND-ed.

    Attributes:
        user_id: sessions of this user.
        kind: sessions of this kind of component.
        component_id: sessions of this component.
        name: sessions whose name contains this text, ignoring case.
        sort_by: the column to sort by, then by session id and user in the same direction.
        descending: whether to sort in descending order.
        offset: how many sessions to skip.
        limit: how many sessions the page has at most.
    """

    user_id: str | None = None
    kind: str | None = None
    component_id: str | None = None
    name: str | None = None
    sort_by: Literal["created_at", "updated_at", "session_name"] = "created_at"
    descending: bool = True
    offset: int = 0
    limit: int = 100


class RunRecord(Struct, frozen=True, kw_only=True):
    """One run of one component.

    Attributes:
        run_id: its id, unique in the database.
        owner: the user whose session it belongs to; empty for nobody's.
        session_id: the session it belongs to.
        user_id: the caller.
        keeps_session: whether the component has a database of its own, which may keep the session; None if that is not
            known, because an earlier version stored the run.
        kind: `agent`, `team` or `workflow`.
        component_id: the component.
        status: PENDING, RUNNING, COMPLETED, PAUSED, CANCELLED or ERROR.
        message: the message for the component.
        result: its result, as a JSON object; empty before it ended or paused.
        paused: what the component needs to resume; None if the run is not paused.
        trace: the root of its trace, as a JSON object; see `spanwise.traces.recording.origin.TraceOrigin`.
        created_at: when it started, in seconds since 1970.
        updated_at: when its status changed last, in seconds since 1970.
        is_damaged: whether its row is not as it was stored. Then it has status ERROR, and neither message nor result.
    """

    run_id: str
    owner: str
    session_id: str
    user_id: str | None
    keeps_session: bool | None = False
    kind: str
    component_id: str
    status: str
    message: str
    result: dict[str, Any]
    paused: Any
    trace: dict[str, Any]
    created_at: int
    updated_at: int
    is_damaged: bool = False

    @property
    def session_key(self) -> SessionKey:
        """Returns what identifies its session."""
        return SessionKey(self.owner, self.session_id)


class KeptSession(NamedTuple):
    """A component that ran in a session, and may keep it in a database of its own.

    Attributes:
        kind: the kind of component.
        component_id: the component.
        user_id: the caller of its runs.
        is_kept: whether the component has such a database; None if that is not known.
    """

    kind: str
    component_id: str
    user_id: str | None
    is_kept: bool | None


@runtime_checkable
class Database(Protocol):
    """Stores sessions, runs and events. Every method blocks, and is called from one thread at a time.

    The changes of a method are durable when it returns, or at the end of the enclosing block of `together`. A method
    raises `UnavailableError` while the database cannot be used. Reads mark a damaged record; changes of it raise
    `RecordDamagedError`.
    An open database is locked: another process cannot open it.
    """

    def open(self) -> list[RunRecord]:
        """Opens the database, and returns the runs that an earlier process left unfinished.

        Raises:
            ConfigurationError: it cannot be opened, or has another version.
            StoreLockedError: another process has it open.
        """
        ...

    def close(self) -> None:
        """Closes the database."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Commits the changes of the block at its end, all of them or none."""
        ...

    def session(self, key: SessionKey) -> SessionRecord | None:
        """Returns a session; None if there is none with that key."""
        ...

    def sessions_with_id(self, session_id: str, limit: int) -> list[SessionRecord]:
        """Returns up to `limit` sessions with an id, of any users."""
        ...

    def sessions(self, query: SessionPageQuery) -> tuple[list[SessionRecord], int]:
        """Returns one page of sessions, and their number on all pages."""
        ...

    def add_session(self, session: SessionRecord) -> SessionRecord | None:
        """Adds a session and returns it as it is stored. Returns None, and changes nothing, if its key is taken."""
        ...

    def change_session(self, session: SessionRecord) -> None:
        """Replaces the session with the same key, except for `is_first`."""
        ...

    def delete_session(self, key: SessionKey) -> None:
        """Deletes a session, its runs and their events. A missing one is a no-op that needs write access."""
        ...

    def kept_sessions(self, key: SessionKey) -> list[KeptSession]:
        """Returns the components that ran in a session, once for each caller."""
        ...

    def has_unfinished_run(self, key: SessionKey) -> bool:
        """Returns whether a run of a session is pending or running."""
        ...

    def run(self, run_id: str) -> RunRecord | None:
        """Returns a run; None if there is none with that id."""
        ...

    def runs(self, key: SessionKey) -> list[RunRecord]:
        """Returns the runs of a session, oldest first."""
        ...

    def begin(self, session: SessionRecord, run: RunRecord) -> SessionRecord:
        """Adds a run, and its session unless there is one with that key. Returns the stored session."""
        ...

    def move(self, run_id: str, before: Sequence[str], after: str) -> bool:
        """Changes the status of a run to `after` if it is one of `before`. Returns whether it was."""
        ...

    def end(self, run: RunRecord, session_state: dict[str, Any] | None) -> None:
        """Stores a run that ended or paused, and the state of its session unless that is None."""
        ...

    def add_events(self, added: Sequence[tuple[str, int, str, bytes]]) -> None:
        """Adds events. Those that exist already are skipped, since a failed commit may have succeeded after all.

        Args:
            added: run id, index, name and JSON of each event.
        """
        ...

    def events(self, run_id: str, after: int, limit: int) -> list[tuple[int, str, bytes]]:
        """Returns up to `limit` events of a run with an index greater than `after`: index, name and JSON, in order."""
        ...
