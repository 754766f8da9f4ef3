"""The conversations that runs belong to: listed, read, named, changed and deleted, each caller its own."""

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
    from spanwise.database import Database, RunRecord, SessionsAsked
    from spanwise.runs.database_writer import Journal

LABEL_LENGTH = 80


class Work(Protocol):
    """What sessions must know of the runs that are under way."""

    def expect_open(self) -> None:
        """Lets pass what needs the database."""

    def is_under_way(self, session_id: str) -> bool:
        """Returns whether a run of a session is under way."""


class NewSession(Struct, frozen=True, kw_only=True):
    """A session that begins without a run.

    Attributes:
        kind: what will run in it.
        session_id: its id; a new one if None.
        user_id: whose it is.
        component_id: the component that it is for.
        name: its name.
        state: what components find in it.
        metadata: what clients remember about it.
    """

    kind: Kind
    session_id: str | None = None
    user_id: str | None = None
    component_id: str | None = None
    name: str | None = None
    state: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class SessionChange(Struct, frozen=True, kw_only=True):
    """What of a session changes; None leaves it as it is.

    Attributes:
        name: its name.
        state: what components find in it, whole.
        metadata: what clients remember about it, whole.
    """

    name: str | None = None
    state: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class Sessions:
    """The sessions of one service."""

    def __init__(self, journal: Journal, work: Work) -> None:
        """Takes the way to the database, and what knows about runs."""
        self._journal = journal
        self._work = work

    async def page(self, asked: SessionsAsked) -> tuple[list[SessionRecord], int]:
        """Returns one page of sessions, and how many there are on all pages."""
        self._work.expect_open()
        return await self._journal.do(lambda database: database.sessions(asked))

    async def visible(self, session_id: str, owner: str | None) -> SessionRecord | None:
        """Returns a session if it is there, and for this caller.

        Args:
            session_id: its id.
            owner: the only user whose sessions the caller sees; None for everyone's.
        """
        self._work.expect_open()
        found = await self._journal.do(lambda database: database.session(session_id))
        return found if found is not None and may(owner, found.user_id) else None

    async def one(self, session_id: str, owner: str | None) -> SessionRecord:
        """Returns one session.

        Raises:
            NotFoundError: there is no such session, or not for this caller.
        """
        found = await self.visible(session_id, owner)
        if found is None:
            raise NotFoundError(f"Session with id '{session_id}' not found")
        return found

    async def run(self, session_id: str, run_id: str, owner: str | None) -> RunRecord:
        """Returns one run of a session.

        Raises:
            NotFoundError: there is no such run in that session, or not for this caller.
        """
        self._work.expect_open()
        found = await self._journal.do(lambda database: database.run(run_id))
        if found is None or found.session_id != session_id or not may(owner, found.user_id):
            raise NotFoundError("Run not found")
        return found

    async def add(self, new: NewSession) -> SessionRecord:
        """Begins a session without a run.

        Raises:
            ConflictError: its id is taken, by whomever.
        """
        self._work.expect_open()
        now = int(time.time())
        session = SessionRecord(
            session_id=new.session_id or str(uuid4()),
            user_id=new.user_id,
            kind=new.kind,
            component_id=new.component_id,
            name=new.name or "",
            state=new.state or {},
            metadata=new.metadata or {},
            created_at=now,
            updated_at=now,
        )
        if not await self._journal.do(lambda database: database.add_session(session)):
            raise ConflictError(f"the session id `{session.session_id}` is taken")
        return session

    async def change(self, session_id: str, owner: str | None, change: SessionChange) -> SessionRecord:
        """Changes a session and returns it.

        Raises:
            NotFoundError: there is no such session, or not for this caller.
            ConflictError: its state is to change, and a run that will leave its own is under way.
        """
        await self.one(session_id, owner)
        if change.state is not None:
            self._expect_idle(session_id)
        changes = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not None}

        def store(database: Database) -> SessionRecord | None:
            found = database.session(session_id)
            if found is None or not may(owner, found.user_id):
                return None
            changed = msgspec.structs.replace(found, **changes, updated_at=int(time.time()))
            database.change_session(changed)
            return changed

        changed = await self._journal.do(store)
        if changed is None:
            raise NotFoundError(f"Session with id '{session_id}' not found")
        return changed

    async def delete(self, session_id: str, owner: str | None) -> None:
        """Removes a session with its runs and events. Its traces stay.

        Raises:
            NotFoundError: there is no such session, or not for this caller.
            ConflictError: one of its runs is under way.
        """
        await self.one(session_id, owner)
        self._expect_idle(session_id)
        await self._journal.do(lambda database: database.delete_session(session_id))

    def _expect_idle(self, session_id: str) -> None:
        if self._work.is_under_way(session_id):
            raise ConflictError("a run of the session is under way")


def may(owner: str | None, user_id: str | None) -> bool:
    """Returns whether a caller who sees only what `owner` has may see what `user_id` has."""
    return owner is None or owner == user_id


def label(message: str) -> str:
    """Returns how a message begins, as the name of its session: on one line, without what no database holds."""
    return " ".join(message.replace("\0", " ")[: LABEL_LENGTH * 2].split())[:LABEL_LENGTH]
