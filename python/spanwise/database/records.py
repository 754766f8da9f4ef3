"""The records of sessions and runs, and the protocol of a database that stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

UNFINISHED = ("PENDING", "RUNNING")
"""The statuses of a run that needs its process."""
STATUSES = (*UNFINISHED, "COMPLETED", "PAUSED", "CANCELLED", "ERROR")
KINDS = ("agent", "team", "workflow")


class SessionKey(NamedTuple):
    """The key of a session. Session ids are unique per user.

    Attributes:
        owner: the user of the session; empty for sessions without a user.
        session_id: its id among the sessions of that user.
    """

    owner: str
    session_id: str


class SessionRecord(Struct, frozen=True, kw_only=True):
    """A session: a series of runs. It belongs to the user of its first run.

    Attributes:
        session_id: its id, unique among the sessions of its user.
        user_id: its user, if any.
        is_first: whether its id was free when it was added. The database decides; see `unique_session_id`.
        kind: `agent`, `team` or `workflow`: the kind of component of its first run.
        component_id: the component of its first run; None if it was added without one.
        name: the beginning of its first message, or a name from a caller.
        state: the state that components store in it; None if no state was ever set. A component's own database may then
            hold an older state.
        metadata: the metadata that clients store in it.
        created_at: when it was added, in seconds since 1970.
        updated_at: when its last run ended or it was changed, in seconds since 1970.
        is_damaged: whether its row is damaged. It then has no name, component, state and metadata.
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
        """Returns its key."""
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
        offset: the number of sessions to skip.
        limit: the maximum number of sessions on the page.
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
        owner: the user of its session; empty for a session without a user.
        session_id: its session.
        user_id: the caller.
        keeps_session: whether the component has a database of its own, which may store the session; None for a run that
            an earlier version stored.
        kind: `agent`, `team` or `workflow`.
        component_id: the component.
        status: PENDING, RUNNING, COMPLETED, PAUSED, CANCELLED or ERROR.
        message: the message for the component.
        result: its result, as a JSON object; empty before it ended or paused.
        paused: the state from which the component resumes; None if the run is not paused.
        trace: the root of its trace, as a JSON object; see `spanwise.traces.recording.origin.TraceOrigin`.
        created_at: when it started, in seconds since 1970.
        updated_at: when its status last changed, in seconds since 1970.
        is_damaged: whether its row is damaged. It then has status ERROR and neither message nor result.
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
        """Returns the key of its session."""
        return SessionKey(self.owner, self.session_id)


class SessionRunQuery(Struct, frozen=True, kw_only=True):
    """A query for the runs of one session. The given conditions are AND-ed.

    Attributes:
        session: the session.
        user_id: runs of this caller.
        kind: runs of this kind of component.
        component_id: runs of this component.
        statuses: runs with one of these statuses; empty for all.
        created_after: runs that started at this time or later, in seconds since 1970.
        created_before: runs that started at this time or earlier, in seconds since 1970.
    """

    session: SessionKey
    user_id: str | None = None
    kind: str | None = None
    component_id: str | None = None
    statuses: tuple[str, ...] = ()
    created_after: int | None = None
    created_before: int | None = None


class StoredBytes(NamedTuple):
    """The size of stored rows, before any of them is read.

    Attributes:
        total: the bytes of their JSON columns; of sessions only those of `metadata`, since a list has no states.
        largest: the bytes of the JSON columns of the largest row.
    """

    total: int
    largest: int


class ComponentSession(NamedTuple):
    """A component that ran in a session, and may also store the session in its own database.

    Attributes:
        kind: the kind of component.
        component_id: the component.
        user_id: the caller of its runs.
        has_database: whether the component has such a database; None if unknown.
    """

    kind: str
    component_id: str
    user_id: str | None
    has_database: bool | None


@runtime_checkable
class Database(Protocol):
    """Stores sessions, runs and events. Every method blocks, and is called from one thread at a time.

    The changes of a method are durable when it returns, or at the end of an enclosing `together` block. A method raises
    `UnavailableError` while the database cannot be used. Reads mark damaged records; changes to them raise
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
        """Commits all changes of the block at its end. An error in the block discards them."""
        ...

    def session(self, key: SessionKey) -> SessionRecord | None:
        """Returns a session; None if it does not exist."""
        ...

    def sessions_with_id(self, session_id: str, limit: int) -> list[SessionRecord]:
        """Returns up to `limit` sessions with an id, of any users."""
        ...

    def session_bytes(self, query: SessionPageQuery | str, owner: str | None = None) -> StoredBytes:
        """Returns the size of one page of sessions, or of sessions with an id: all, or those of `owner`."""
        ...

    def sessions(self, query: SessionPageQuery) -> tuple[list[SessionRecord], int]:
        """Returns one page of sessions without their states, and their number on all pages."""
        ...

    def add_session(self, session: SessionRecord) -> SessionRecord | None:
        """Adds a session and returns it as stored. Returns None, and changes nothing, if its key is taken."""
        ...

    def change_session(self, session: SessionRecord) -> None:
        """Replaces the session with the same key, except for `is_first`."""
        ...

    def delete_session(self, key: SessionKey) -> None:
        """Deletes a session, its runs and their events. Requires write access even if the session is missing."""
        ...

    def component_sessions(self, key: SessionKey) -> list[ComponentSession]:
        """Returns the components that ran in a session, once for each caller."""
        ...

    def has_unfinished_run(self, key: SessionKey) -> bool:
        """Returns whether a run of a session is pending or running."""
        ...

    def run(self, run_id: str) -> RunRecord | None:
        """Returns a run; None if it does not exist."""
        ...

    def run_bytes(self, query: SessionRunQuery | str, user_id: str | None = None) -> StoredBytes:
        """Returns the size of the runs that match a query, or of the run with an id. `user_id` excludes other users."""
        ...

    def run_sizes(self, query: SessionRunQuery, after: int, limit: int) -> list[tuple[int, int]]:
        """Returns number and bytes of up to `limit` runs with a number greater than `after`, oldest first."""
        ...

    def runs(self, numbers: Sequence[int]) -> list[RunRecord]:
        """Returns the runs with these numbers, oldest first. The members of a `result` are `msgspec.Raw`, not null."""
        ...

    def begin(self, session: SessionRecord, run: RunRecord) -> SessionRecord:
        """Adds a run, and its session if it does not exist. Returns the stored session."""
        ...

    def move(self, run_id: str, before: Sequence[str], after: str) -> bool:
        """Changes the status of a run to `after` if it is in `before`. Returns whether it changed."""
        ...

    def end(self, run: RunRecord, session_state: dict[str, Any] | None) -> None:
        """Stores an ended or paused run, and the state of its session. A state of None changes nothing."""
        ...

    def add_events(self, added: Sequence[tuple[str, int, str, bytes]]) -> None:
        """Adds events. Existing ones are skipped, because a commit that seemed to fail may have succeeded.

        Args:
            added: run id, index, name and JSON of each event.
        """
        ...

    def events(self, run_id: str, after: int, limit: int) -> list[tuple[int, str, bytes]]:
        """Returns up to `limit` events of a run with an index greater than `after`: index, name and JSON, in order."""
        ...
