"""The sessions of runs: lists, lookup, creation, changes and deletion, restricted to the caller's data."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import msgspec
from msgspec import Struct

from spanwise.components import Kind
from spanwise.database import SessionRecord
from spanwise.errors import ConflictError, NotFoundError
from spanwise.runs.sessions.lookup import find_session
from spanwise.runs.storage.pages import RunPages, reserve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.database import ComponentSession, Database, RunRecord, SessionKey, SessionPageQuery, SessionRunQuery
    from spanwise.fair_budget import Lease
    from spanwise.runs.sessions.component_databases import ComponentDatabases
    from spanwise.runs.sessions.lookup import SessionAddress
    from spanwise.runs.storage.pages import Encoded
    from spanwise.runs.storage.writer import DatabaseWriter

MAX_NAME_LENGTH = 80
"""The length limit of a session name that is taken from its first message."""
_IS_ACTIVE = "a run of the session is under way"


class ActiveRuns(Protocol):
    """The part of the runs that sessions use; see `spanwise.runs.service.Runs`."""

    async def opened(self) -> None:
        """Waits until the database is open."""

    def is_session_active(self, session: SessionKey) -> bool:
        """Returns True if a run of a session is active."""


class NewSession(Struct, frozen=True, kw_only=True):
    """A session to be added without a run.

    Attributes:
        kind: the kind of component that will run in it.
        session_id: its id; None for a new one.
        user_id: the user it belongs to.
        is_verified: True if the user is verified, and so has separate session ids.
        component_id: the component that will run in it.
        name: its name.
        state: its state, for components.
        metadata: the client's notes about it.
    """

    kind: Kind
    session_id: str | None = None
    user_id: str | None = None
    is_verified: bool = False
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

    def __init__(self, writer: DatabaseWriter, runs: ActiveRuns, components: ComponentDatabases) -> None:
        """Creates the sessions of a service.

        Args:
            writer: gives access to the database.
            runs: the runs of the same service.
            components: the databases of the components that run in the sessions.
        """
        self._writer = writer
        self._runs = runs
        self._components = components
        self._deleting: set[SessionKey] = set()

    async def page(self, query: SessionPageQuery, lease: Lease) -> tuple[list[SessionRecord], int]:
        """Returns one page of sessions, and their number on all pages.

        Args:
            query: selects the sessions.
            lease: the caller's lease on the response budget.

        Raises:
            PayloadTooLargeError: a session needs more memory than a caller may hold.
            UnavailableError: the budget is used up, or the database is not open.
        """
        await self._runs.opened()

        def read(database: Database) -> tuple[list[SessionRecord], int]:
            found = database.session_bytes(query)
            reserve(lease, found.total + found.largest)
            return database.sessions(query)

        return await self._writer.transact(read)

    async def one(self, address: SessionAddress, lease: Lease | None = None) -> SessionRecord:
        """Returns one session.

        Args:
            address: the session.
            lease: the caller's lease on the response budget. A session that is sent is charged to it.

        Raises:
            NotFoundError: the session does not exist, or the caller may not access it.
            ConflictError: several users have a session with that id.
            PayloadTooLargeError: the session needs more memory than a caller may hold.
            UnavailableError: the budget is used up, or the database is not open.
        """
        await self._runs.opened()

        def read(database: Database) -> SessionRecord:
            if lease is not None:
                reserve(lease, 2 * database.session_bytes(address.session_id, address.owner).largest)
            return _expect_session(database, address)

        return await self._writer.transact(read)

    async def runs(
        self,
        address: SessionAddress,
        select: Callable[[Database, SessionKey], SessionRunQuery],
        lease: Lease,
        encode: Callable[[RunRecord], Encoded],
    ) -> tuple[RunPages[Encoded], list[Encoded]]:
        """Returns the runs of a session that a caller may see, oldest first, and its first page.

        Args:
            address: the session.
            select: returns the query for its runs; called within a transaction.
            lease: the caller's lease on the response budget.
            encode: returns a run as it is sent; called in the thread of the database.

        Raises:
            NotFoundError: the session does not exist, or the caller may not access it.
            ConflictError: several users have a session with that id.
            PayloadTooLargeError: a run needs more memory than a caller may hold.
            UnavailableError: the budget is used up, or the database is not open.
        """
        await self._runs.opened()

        def find(database: Database) -> SessionRunQuery:
            found = find_session(database, address)
            if found is None:
                raise NotFoundError("Session not found")
            query = select(database, found.key)
            return query if address.owner is None else msgspec.structs.replace(query, user_id=address.owner)

        pages = RunPages(self._writer, lease, encode)
        return pages, await pages.first(find)

    async def reserve_run(self, run_id: str, owner: str | None, lease: Lease) -> None:
        """Takes the memory to read, decode and send one run; a no-op if the run does not exist.

        Args:
            run_id: the run.
            owner: the only user whose runs the caller may see; None for everyone's.
            lease: the caller's lease on the response budget.

        Raises:
            PayloadTooLargeError: the run needs more memory than a caller may hold.
            UnavailableError: the budget is used up, or the database is not open.
        """
        await self._runs.opened()

        def take(database: Database) -> None:
            # Runs of other users do not count, so a rejection reveals nothing about them.
            reserve(lease, 2 * database.run_bytes(run_id, owner).total)

        await self._writer.transact(take)

    async def run(self, address: SessionAddress, run_id: str, lease: Lease) -> RunRecord:
        """Returns one run of a session.

        Args:
            address: the session.
            run_id: the run.
            lease: the caller's lease on the response budget.

        Raises:
            NotFoundError: the session has no such run, or the caller may not access it.
            ConflictError: several users have a session with that id.
            PayloadTooLargeError: the run needs more memory than a caller may hold.
            UnavailableError: the budget is used up, or the database is not open.
        """
        session = await self.one(address, lease)
        await self.reserve_run(run_id, address.owner, lease)
        found = await self._writer.transact(lambda database: database.run(run_id))
        if found is None or found.session_key != session.key or not is_visible_to(address.owner, found.user_id):
            raise NotFoundError("Run not found")
        return found

    async def add(self, new: NewSession) -> SessionRecord:
        """Adds a session without a run and returns it.

        Raises:
            ConflictError: the id is taken by a session of the same user, or of any user if this one is not verified.
        """
        await self._runs.opened()
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

        def store(database: Database) -> SessionRecord | None:
            if not new.is_verified and database.sessions_with_id(session.session_id, 1):
                return None
            return database.add_session(session)

        stored = await self._writer.transact(store)
        if stored is None:
            raise ConflictError(f"the session id `{session.session_id}` is taken")
        return stored

    async def change(self, address: SessionAddress, change: SessionChange) -> SessionRecord:
        """Changes a session and returns it.

        Raises:
            NotFoundError: the session does not exist, or the caller may not access it.
            ConflictError: several users have a session with that id, the session is being deleted, or an active run
                will replace the new state.
        """
        if change.state is not None:
            self._expect_idle((await self.one(address)).key)
        changes = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not None}

        def store(database: Database) -> SessionRecord:
            found = _expect_session(database, address)
            self.expect_not_deleting(found.key)
            changed = msgspec.structs.replace(found, **changes, updated_at=int(time.time()))
            database.change_session(changed)
            return changed

        return await self._writer.transact(store)

    async def delete(self, address: SessionAddress) -> None:
        """Deletes a session with its runs and events, here and in the databases of its components. Its traces stay.

        Raises:
            NotFoundError: the session does not exist, or the caller may not access it.
            ConflictError: several users have a session with that id, or the session is already being deleted. Or one of
                its runs is active, or a component that keeps it is no longer hosted. No data was deleted.
            UnavailableError: a component's database failed. The session still exists here, so the deletion can be
                repeated.
        """
        await self._delete(lambda database: [_expect_session(database, address)])

    async def delete_all(self, addresses: Sequence[SessionAddress]) -> None:
        """Deletes several sessions in the same way, in order. Those that do not exist are skipped.

        Raises:
            ConflictError: as `delete`, for any of them. No data was deleted.
            UnavailableError: a component's database failed. Earlier sessions are deleted, later ones are not.
        """

        def find(database: Database) -> list[SessionRecord]:
            found = (find_session(database, address) for address in addresses)
            return list({session.key: session for session in found if session is not None}.values())

        await self._delete(find)

    async def _delete(self, find: Callable[[Database], list[SessionRecord]]) -> None:
        """Deletes sessions, first in the databases of components.

        A session that is deleted only in part still exists here.
        """
        await self._runs.opened()
        claimed: list[SessionKey] = []

        def claim(database: Database) -> list[tuple[SessionRecord, list[ComponentSession]]]:
            found = [(session, database.component_sessions(session.key)) for session in find(database)]
            for session, components in found:
                self.expect_not_deleting(session.key)
                self._expect_idle(session.key)
                if database.has_unfinished_run(session.key):
                    raise ConflictError(_IS_ACTIVE)
                self._components.expect_hosted(session, components)
            claimed[:] = [session.key for session, _ in found]
            self._deleting.update(claimed)
            return found

        try:
            for session, components in await self._writer.transact(claim):
                await self._components.delete(session, components)
                await self._writer.transact(lambda database, key=session.key: database.delete_session(key))  # type: ignore[misc]
        finally:
            self._deleting.difference_update(claimed)

    def expect_not_deleting(self, session: SessionKey) -> None:
        """Checks that a session is not being deleted. Within a transaction, no other change can interfere.

        Raises:
            ConflictError: the session is being deleted.
        """
        if session in self._deleting:
            raise ConflictError("the session is being deleted")

    def _expect_idle(self, session: SessionKey) -> None:
        if self._runs.is_session_active(session):
            raise ConflictError(_IS_ACTIVE)


def _expect_session(database: Database, address: SessionAddress) -> SessionRecord:
    found = find_session(database, address)
    if found is None:
        raise NotFoundError(f"Session with id '{address.session_id}' not found")
    return found


def is_visible_to(owner: str | None, user_id: str | None) -> bool:
    """Returns True if a caller may see data of `user_id`.

    Args:
        owner: the only user whose sessions and runs the caller may see; None for everyone's.
        user_id: the user it belongs to; None if it has no owner.
    """
    return owner is None or owner == user_id


def session_name(message: str) -> str:
    """Returns the beginning of a message as the name of its session: one line, without NUL."""
    return " ".join(message.replace("\0", " ")[: MAX_NAME_LENGTH * 2].split())[:MAX_NAME_LENGTH]
