"""The SQL database of sessions, runs and events, through SQLAlchemy Core. Subclasses open, lock and close it."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, delete, func, insert, literal, select, update
from sqlalchemy.exc import StatementError

from spanwise.database.checksums import verified, with_checksum
from spanwise.database.damaged import damaged_event, intact, readable
from spanwise.database.faults import AWAY, translated
from spanwise.database.records import (
    UNFINISHED,
    ComponentSession,
    SessionKey,
    SessionPageQuery,
    SessionRunQuery,
    StoredBytes,
)
from spanwise.database.session_ids import is_derived
from spanwise.database.tables import (
    events,
    folded,
    listed_session_of,
    raw_run_of,
    row_of,
    run_of,
    runs,
    session_of,
    sessions,
    tables,
)
from spanwise.errors import RecordDamagedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Engine, Row, Select, Table
    from sqlalchemy.dialects import postgresql, sqlite

    from spanwise.database.records import RunRecord, SessionRecord

Record = TypeVar("Record")
FAULT_LOG_SECONDS = 60.0
SESSIONS_AT_ONCE = 2
"""Rows of a page of sessions in memory at once, with their states."""
_log = logging.getLogger(__name__)
_SORT_COLUMNS = {
    "created_at": sessions.c.created_at,
    "updated_at": sessions.c.updated_at,
    "session_name": sessions.c.name,
}


class SqlDatabase:
    """Sessions, runs and events in three tables."""

    def __init__(self, insert_of: Callable[[Table], postgresql.Insert | sqlite.Insert]) -> None:
        """Creates a database without opening it.

        Args:
            insert_of: returns an insert statement for a table, in the dialect of the database.
        """
        self._insert_of = insert_of
        self._engine: Engine | None = None
        self._shared: Connection | None = None
        self._fault = ""
        self._fault_logged_at = 0.0

    @property
    def _connected(self) -> Engine:
        assert self._engine is not None, "opened before it is used"  # noqa: S101  # callers open it first
        return self._engine

    def close(self) -> None:
        """Closes all connections."""
        if self._engine is not None:
            self._engine.dispose()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commits all changes of the block at its end. An error in the block discards them.

        Raises:
            UnavailableError: the database does not respond.
        """
        with self._begun() as connection:
            self._shared = connection
            try:
                yield
            finally:
                self._shared = None

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        if self._shared is not None:
            yield self._shared
            return
        with self._begun() as connection:
            yield connection

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        try:
            with self._connected.begin() as connection:
                yield connection
            if self._fault == AWAY:
                self._fault = ""
                _log.warning("the database of runs answers again")
        except StatementError as error:
            found = translated(error)
            if found is None:
                raise
            if isinstance(found, UnavailableError):
                self._log_fault(str(found), error)
            raise found from error
        except UnicodeDecodeError as error:  # raised by the driver; the message quotes a damaged schema
            raise RecordDamagedError(f"the database of runs is damaged: {error.object!r}") from error

    def _log_fault(self, fault: str, error: StatementError) -> None:
        """Logs a fault with its cause, which callers do not see. A lasting fault is logged once a minute."""
        now = time.monotonic()
        if fault != self._fault or now > self._fault_logged_at + FAULT_LOG_SECONDS:
            self._fault, self._fault_logged_at = fault, now
            _log.error("%s: %s", fault, " ".join(str(error.orig).split()))

    def _create(self) -> list[RunRecord]:
        """Creates missing tables and indexes, and returns the runs that an earlier process left unfinished.

        A table may exist without its indexes, because SQLite commits after each statement and the process may be
        killed.
        """
        with self._transaction() as connection:
            tables.create_all(connection)
            for index in (index for table in tables.sorted_tables for index in table.indexes):
                index.create(connection, checkfirst=True)
            rows = connection.execute(select(runs).where(runs.c.status.in_(UNFINISHED)).order_by(runs.c.number)).all()
            found = [(row.number, readable(run_of, runs, row)) for row in rows]
            damaged = [number for number, run in found if run.is_damaged]
            if damaged:
                # The rows stay damaged, but no longer prevent the deletion of their sessions. Without such rows, a
                # read-only server must not keep the service from starting.
                connection.execute(update(runs).where(runs.c.number.in_(damaged)).values(status="ERROR"))
        return [run for _, run in found if not run.is_damaged]

    def session(self, key: SessionKey) -> SessionRecord | None:
        """Returns a session; None if it does not exist."""
        with self._transaction() as connection:
            row = connection.execute(select(sessions).where(*_of(sessions, key))).one_or_none()
        return None if row is None else readable(session_of, sessions, row)

    def sessions_with_id(self, session_id: str, limit: int) -> list[SessionRecord]:
        """Returns up to `limit` sessions with an id, of any users."""
        query = select(sessions).where(sessions.c.session_id == session_id).order_by(sessions.c.owner).limit(limit)
        with self._transaction() as connection:
            return [readable(session_of, sessions, row) for row in connection.execute(query)]

    def session_bytes(self, query: SessionPageQuery | str, owner: str | None = None) -> StoredBytes:
        """Returns the size of one page of sessions, or of sessions with an id: all, or those of `owner`."""
        if isinstance(query, str):
            sizes = select(*_SESSION_SIZES).where(sessions.c.session_id == query)
        else:
            sizes = _page(query, *_SESSION_SIZES)
        return self._stored_bytes(sizes if owner is None else sizes.where(sessions.c.owner == owner))

    def sessions(self, query: SessionPageQuery) -> tuple[list[SessionRecord], int]:
        """Returns one page of sessions without their states, and their number on all pages."""
        matching = _conditions(query)
        page = _page(query, sessions).execution_options(yield_per=SESSIONS_AT_ONCE)
        with self._transaction() as connection:
            count = connection.execute(select(func.count()).select_from(sessions).where(*matching)).scalar_one()
            return [readable(listed_session_of, sessions, row) for row in connection.execute(page)], count

    def add_session(self, session: SessionRecord) -> SessionRecord | None:
        """Adds a session and returns it as stored. Returns None, and changes nothing, if its key is taken."""
        with self._transaction() as connection:
            if connection.execute(select(sessions.c.owner).where(*_of(sessions, session.key))).one_or_none():
                return None
            return _insert_session(connection, session)

    def change_session(self, session: SessionRecord) -> None:
        """Replaces the session with the same key, except for `is_first`."""
        with self._transaction() as connection:
            values = row_of(session)
            del values["is_first"]
            _change(connection, sessions, _of(sessions, session.key), values)

    def delete_session(self, key: SessionKey) -> None:
        """Deletes a session, its runs and their events."""
        own = select(runs.c.run_id).where(*_of(runs, key))
        with self._transaction() as connection:
            connection.execute(delete(events).where(events.c.run_id.in_(own)))
            connection.execute(delete(runs).where(*_of(runs, key)))
            connection.execute(delete(sessions).where(*_of(sessions, key)))

    def component_sessions(self, key: SessionKey) -> list[ComponentSession]:
        """Returns the components that ran in a session, once for each caller."""
        columns = (runs.c.kind, runs.c.component_id, runs.c.user_id, runs.c.keeps_session)
        query = select(*columns).where(*_of(runs, key)).distinct()
        with self._transaction() as connection:
            return [ComponentSession(*row) for row in connection.execute(query)]

    def has_unfinished_run(self, key: SessionKey) -> bool:
        """Returns whether a run of a session is pending or running."""
        query = select(runs.c.number).where(*_of(runs, key), runs.c.status.in_(UNFINISHED)).limit(1)
        with self._transaction() as connection:
            return connection.execute(query).one_or_none() is not None

    def run(self, run_id: str) -> RunRecord | None:
        """Returns a run; None if it does not exist."""
        with self._transaction() as connection:
            row = connection.execute(select(runs).where(runs.c.run_id == run_id)).one_or_none()
        return None if row is None else readable(run_of, runs, row)

    def run_bytes(self, query: SessionRunQuery | str, user_id: str | None = None) -> StoredBytes:
        """Returns the size of the runs that match a query, or of the run with an id. `user_id` excludes other users."""
        matching = [runs.c.run_id == query] if isinstance(query, str) else _run_conditions(query)
        if user_id is not None:
            matching.append(runs.c.user_id == user_id)
        return self._stored_bytes(select(_RUN_SIZE.label("listed"), _RUN_SIZE.label("whole")).where(*matching))

    def run_sizes(self, query: SessionRunQuery, after: int, limit: int) -> list[tuple[int, int]]:
        """Returns number and bytes of up to `limit` runs with a number greater than `after`, oldest first."""
        found = select(runs.c.number, _RUN_SIZE).where(*_run_conditions(query), runs.c.number > after)
        with self._transaction() as connection:
            return [(number, size) for number, size in connection.execute(found.order_by(runs.c.number).limit(limit))]

    def runs(self, numbers: Sequence[int]) -> list[RunRecord]:
        """Returns the runs with these numbers, oldest first. The members of a `result` are `msgspec.Raw`, not null."""
        query = select(runs).where(runs.c.number.in_(numbers)).order_by(runs.c.number)
        with self._transaction() as connection:
            return [readable(raw_run_of, runs, row) for row in connection.execute(query)]

    def _stored_bytes(self, sizes: Select[int, int]) -> StoredBytes:
        """Returns the totals of rows with `listed`, the bytes that a list keeps, and `whole`, the bytes of the row."""
        rows = sizes.subquery()
        totals = select(func.sum(rows.c.listed), func.max(rows.c.whole))
        with self._transaction() as connection:
            found = connection.execute(totals).one()
        return StoredBytes(*(int(each or 0) for each in found))

    def begin(self, session: SessionRecord, run: RunRecord) -> SessionRecord:
        """Adds a run, and its session if it does not exist. Returns the stored session."""
        with self._transaction() as connection:
            found = connection.execute(select(sessions).where(*_of(sessions, session.key))).one_or_none()
            stored = _insert_session(connection, session) if found is None else intact(session_of, sessions, found)
            connection.execute(insert(runs).values(with_checksum(runs, row_of(run))))
        return stored

    def move(self, run_id: str, before: Sequence[str], after: str) -> bool:
        """Changes the status of a run to `after` if it is in `before`. Returns whether it changed."""
        movable = (runs.c.run_id == run_id, runs.c.status.in_(before))
        with self._transaction() as connection:
            return _change(connection, runs, movable, {"status": after, "updated_at": int(time.time())})

    def end(self, run: RunRecord, session_state: dict[str, Any] | None) -> None:
        """Stores an ended or paused run, and the state of its session. A state of None changes nothing."""
        state = {} if session_state is None else {"state": msgspec.json.encode(session_state)}
        with self._transaction() as connection:
            whole = with_checksum(runs, row_of(run))
            connection.execute(update(runs).where(runs.c.run_id == run.run_id).values(whole))
            try:
                _change(connection, sessions, _of(sessions, run.session_key), {"updated_at": run.updated_at, **state})
            except RecordDamagedError as error:  # the run is stored anyway
                _log.error("%s; a run in it ended", error)

    def add_events(self, added: Sequence[tuple[str, int, str, bytes]]) -> None:
        """Adds events: run id, index, name and JSON of each. Existing ones are skipped."""
        names = ("run_id", "position", "name", "body")
        rows = [with_checksum(events, dict(zip(names, each, strict=True))) for each in added]
        with self._transaction() as connection:
            connection.execute(self._insert_of(events).on_conflict_do_nothing(), rows)

    def events(self, run_id: str, after: int, limit: int) -> list[tuple[int, str, bytes]]:
        """Returns up to `limit` events of a run with an index greater than `after`: index, name and JSON, in order.

        A damaged event is marked and logged.
        """
        query = (
            select(events)
            .where(events.c.run_id == run_id, events.c.position > after)
            .order_by(events.c.position)
            .limit(limit)
        )
        with self._transaction() as connection:
            return [each for row in connection.execute(query) if (each := _event_of(run_id, row)) is not None]


def _event_of(run_id: str, row: Row[Any]) -> tuple[int, str, bytes] | None:
    """Returns index, name and JSON of an event. A damaged event is marked. Returns None if its index is damaged."""
    try:
        found = verified(events, row)
    except RecordDamagedError as error:
        _log.error("%s; it is marked in responses", error)
        return damaged_event(run_id, row.position) if isinstance(row.position, int) else None
    return found["position"], found["name"], found["body"]


def _change(
    connection: Connection, table: Table, conditions: Sequence[ColumnElement[bool]], changes: Mapping[str, Any]
) -> bool:
    """Changes columns of the row that meets the conditions, and its checksum. Returns whether there is such a row.

    Raises:
        RecordDamagedError: the row is damaged.
    """
    row = connection.execute(select(table).where(*conditions)).one_or_none()
    if row is None:
        return False
    values = with_checksum(table, {**verified(table, row), **changes})
    connection.execute(update(table).where(*conditions).values(values))
    return True


def _of(table: Table, key: SessionKey) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Returns the conditions for rows of one session."""
    return table.c.owner == key.owner, table.c.session_id == key.session_id


def _insert_session(connection: Connection, session: SessionRecord) -> SessionRecord:
    """Adds a session and returns it as stored."""
    first = select(sessions.c.owner).where(sessions.c.session_id == session.session_id, sessions.c.is_first)
    is_first = connection.execute(first).first() is None
    stored = msgspec.structs.replace(session, is_first=is_first and not is_derived(session.session_id))
    connection.execute(insert(sessions).values(with_checksum(sessions, row_of(stored))))
    return stored


def _size_of(table: Table, *names: str) -> ColumnElement[int]:
    """Returns the bytes of columns of a row. Databases know them without reading the columns."""
    return sum((func.coalesce(func.length(table.c[name]), 0) for name in names), literal(0))


_RUN_SIZE = _size_of(runs, "message", "result", "paused", "trace")
_SESSION_SIZES = (
    _size_of(sessions, "metadata").label("listed"),
    _size_of(sessions, "state", "metadata").label("whole"),
)


def _page(query: SessionPageQuery, *selected: Any) -> Select[Any]:  # noqa: ANN401  # what `select` takes
    # all in one direction, as in the index
    columns = (_SORT_COLUMNS[query.sort_by], sessions.c.session_id, sessions.c.owner)
    order = [column.desc() if query.descending else column.asc() for column in columns]
    page = select(*selected).where(*_conditions(query)).order_by(*order)
    return page.limit(query.limit).offset(query.offset)


def _run_conditions(query: SessionRunQuery) -> list[ColumnElement[bool]]:
    equal = {"user_id": query.user_id, "kind": query.kind, "component_id": query.component_id}
    found = [*_of(runs, query.session), *(runs.c[name] == value for name, value in equal.items() if value is not None)]
    if query.statuses:
        found.append(runs.c.status.in_(query.statuses))
    if query.created_after is not None:
        found.append(runs.c.created_at >= query.created_after)
    if query.created_before is not None:
        found.append(runs.c.created_at <= query.created_before)
    return found


def _conditions(query: SessionPageQuery) -> list[ColumnElement[bool]]:
    equal = {"owner": query.user_id, "kind": query.kind, "component_id": query.component_id}
    found = [sessions.c[name] == value for name, value in equal.items() if value is not None]
    if query.name is not None:
        found.append(sessions.c.folded_name.contains(folded(query.name), autoescape=True))
    return found
