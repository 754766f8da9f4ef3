"""The sessions that runs belong to: listed, read, added, changed and deleted, restricted to what a caller may see."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import msgspec
from msgspec import Struct

from spanwise.components import Kind
from spanwise.database import SessionRecord
from spanwise.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from spanwise.database import Database, RunRecord, SessionPageQuery
    from spanwise.runs.database_writer import DatabaseWriter

MAX_NAME_LENGTH = 80
"""Characters of a session's name that is taken from its first message."""


class ActiveRuns(Protocol):
    """What sessions need to know about runs; see `spanwise.runs.service.Runs`."""

    def expect_open(self) -> None:
        """Checks that the database is open."""

    def is_session_active(self, session_id: str) -> bool:
        """Returns whether a run of a session is active."""


class NewSession(Struct, frozen=True, kw_only=True):
    """A session to be added without a run.

    Attributes:
        kind: the kind of component that will run in it.
        session_id: its id; None for a new one.
        user_id: the user it belongs to.
        component_id: the component that will run in it.
        name: its name.
        state: its state, for components.
        metadata: what clients note about it.
    """

    kind: Kind
    session_id: str | None = None
    user_id: str | None = None
    component_id: str | None = None
    name: str | None = None
    state: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class SessionChange(Struct, frozen=True, kw_only=True):
    """Changes to a session; None leaves a member as it is.

    Attributes:
        name: the new name.
        state: the new state, which replaces the old one.
        metadata: the new metadata, which replaces the old one.
    """

    name: str | None = None
    state: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class Sessions:
    """The sessions of one service."""

    def __init__(self, writer: DatabaseWriter, runs: ActiveRuns) -> None:
        """Creates the sessions of a service.

        Args:
            writer: gives access to the database.
            runs: the runs of the same service.
        """
        self._writer = writer
        self._runs = runs

    async def page(self, query: SessionPageQuery) -> tuple[list[SessionRecord], int]:
        """Returns one page of sessions, and their number on all pages.

        Raises:
            UnavailableError: the database is not open.
        """
        self._runs.expect_open()
        return await self._writer.transact(lambda database: database.sessions(query))

    async def visible(self, session_id: str, owner: str | None) -> SessionRecord | None:
        """Returns a session; None if there is none, or the caller may not see it.

        Args:
            session_id: its id.
            owner: the only user whose sessions the caller may see; None for everyone's.

        Raises:
            UnavailableError: the database is not open.
        """
        self._runs.expect_open()
        found = await self._writer.transact(lambda database: database.session(session_id))
        return found if found is not None and is_visible_to(owner, found.user_id) else None

    async def one(self, session_id: str, owner: str | None) -> SessionRecord:
        """Returns one session.

        Raises:
            NotFoundError: there is no such session, or the caller may not see it.
        """
        found = await self.visible(session_id, owner)
        if found is None:
            raise NotFoundError(f"Session with id '{session_id}' not found")
        return found

    async def run(self, session_id: str, run_id: str, owner: str | None) -> RunRecord:
        """Returns one run of a session.

        Raises:
            NotFoundError: the session has no such run, or the caller may not see it.
        """
        self._runs.expect_open()
        found = await self._writer.transact(lambda database: database.run(run_id))
        if found is None or found.session_id != session_id or not is_visible_to(owner, found.user_id):
            raise NotFoundError("Run not found")
        return found

    async def add(self, new: NewSession) -> SessionRecord:
        """Adds a session without a run and returns it.

        Raises:
            ConflictError: its id is taken, if only by another user.
        """
        self._runs.expect_open()
        now = int(time.time())
        session = SessionRecord(
            session_id=new.session_id or str(uuid4()),
            user_id=new.user_id,
            kind=new.kind,
            component_id=new.component_id,
            name=new.name or "",
            state=new.state,
            metadata=new.metadata or {},
            created_at=now,
            updated_at=now,
        )
        if not await self._writer.transact(lambda database: database.add_session(session)):
            raise ConflictError(f"the session id `{session.session_id}` is taken")
        return session

    async def change(self, session_id: str, owner: str | None, change: SessionChange) -> SessionRecord:
        """Changes a session and returns it.

        Raises:
            NotFoundError: there is no such session, or the caller may not see it.
            ConflictError: the state is to change while an active run will replace it.
        """
        await self.one(session_id, owner)
        if change.state is not None:
            self._expect_idle(session_id)
        changes = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not None}

        def store(database: Database) -> SessionRecord | None:
            found = database.session(session_id)
            if found is None or not is_visible_to(owner, found.user_id):
                return None
            changed = msgspec.structs.replace(found, **changes, updated_at=int(time.time()))
            database.change_session(changed)
            return changed

        changed = await self._writer.transact(store)
        if changed is None:
            raise NotFoundError(f"Session with id '{session_id}' not found")
        return changed

    async def delete(self, session_id: str, owner: str | None) -> None:
        """Deletes a session with its runs and events. Its traces stay.

        Raises:
            NotFoundError: there is no such session, or the caller may not see it.
            ConflictError: one of its runs is active.
        """
        await self.one(session_id, owner)
        self._expect_idle(session_id)
        await self._writer.transact(lambda database: database.delete_session(session_id))

    def _expect_idle(self, session_id: str) -> None:
        if self._runs.is_session_active(session_id):
            raise ConflictError("a run of the session is under way")


def is_visible_to(owner: str | None, user_id: str | None) -> bool:
    """Returns whether a caller may see what belongs to `user_id`.

    Args:
        owner: the only user whose sessions and runs the caller may see; None for everyone's.
        user_id: the user it belongs to; None for nobody.
    """
    return owner is None or owner == user_id


def session_name(message: str) -> str:
    """Returns the beginning of a message as the name of its session: one line, without NUL."""
    return " ".join(message.replace("\0", " ")[: MAX_NAME_LENGTH * 2].split())[:MAX_NAME_LENGTH]
