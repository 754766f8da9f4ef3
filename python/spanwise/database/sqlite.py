"""The default database: one SQLite file, through SQLAlchemy Core."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import (
    Column,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    event,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from spanwise.database.records import UNFINISHED, RunRecord, SessionRecord
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Row

FORMAT = 1
"""The version of the tables. A file of another version is refused, never changed."""

_tables = MetaData()
_sessions = Table(
    "sessions",
    _tables,
    Column("session_id", String, primary_key=True),
    Column("user_id", String),
    Column("kind", String, nullable=False),
    Column("component_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("updated_at", Integer, nullable=False),
)
_runs = Table(
    "runs",
    _tables,
    Column("run_id", String, primary_key=True),
    Column("session_id", String, nullable=False),
    Column("user_id", String),
    Column("kind", String, nullable=False),
    Column("component_id", String, nullable=False),
    Column("status", String, nullable=False),
    Column("message", String, nullable=False),
    Column("result", LargeBinary, nullable=False),
    Column("paused", LargeBinary, nullable=False),
    Column("trace", LargeBinary, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("updated_at", Integer, nullable=False),
    Index("runs_by_session", "session_id", "created_at"),
    Index("runs_by_status", "status"),
)
_events = Table(
    "events",
    _tables,
    Column("run_id", String, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
_JSON = {"state", "result", "paused", "trace"}


class SqliteDatabase:
    """Sessions, runs and events in one file."""

    def __init__(self, path: str | Path) -> None:
        """Names the file, without touching it."""
        self.path = Path(path)
        self._engine: Engine | None = None
        self._shared: Connection | None = None

    def open(self) -> list[RunRecord]:
        """Opens the file, creates it if there is none, and returns the runs that nobody finished.

        Raises:
            ConfigurationError: it cannot be opened, or is of another version.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._engine = create_engine(f"sqlite:///{self.path}", connect_args={"check_same_thread": False})
            event.listen(self._engine, "connect", _prepare)
            self._expect_format()
            _tables.create_all(self._engine)
        except (OSError, SQLAlchemyError) as error:
            raise ConfigurationError(f"cannot open the database `{self.path}`: {error}") from error
        with self._transaction() as connection:
            rows = connection.execute(select(_runs).where(_runs.c.status.in_(UNFINISHED))).all()
        return [_run(row) for row in rows]

    def close(self) -> None:
        """Closes the file."""
        if self._engine is not None:
            self._engine.dispose()

    @property
    def _connected(self) -> Engine:
        assert self._engine is not None, "opened before it is used"  # noqa: S101  # the service opens it
        return self._engine

    @contextmanager
    def together(self) -> Iterator[None]:
        """Makes what is done in the block durable at its end, all of it or nothing."""
        with self._connected.begin() as connection:
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
        with self._connected.begin() as connection:
            yield connection

    def _expect_format(self) -> None:
        with self._transaction() as connection:
            found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if found not in (0, FORMAT):
                raise ConfigurationError(f"the database `{self.path}` has version {found}, this program reads {FORMAT}")
            connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")

    def session(self, session_id: str) -> SessionRecord | None:
        """Returns one session."""
        with self._transaction() as connection:
            row = connection.execute(select(_sessions).where(_sessions.c.session_id == session_id)).one_or_none()
        return None if row is None else _session(row)

    def sessions(self, user_id: str | None, kind: str | None, component_id: str | None) -> list[SessionRecord]:
        """Returns sessions, the one changed last first; of one user, of one kind, of one component, if given."""
        asked = select(_sessions).order_by(_sessions.c.updated_at.desc(), _sessions.c.session_id)
        for column, value in (("user_id", user_id), ("kind", kind), ("component_id", component_id)):
            if value is not None:
                asked = asked.where(_sessions.c[column] == value)
        with self._transaction() as connection:
            return [_session(row) for row in connection.execute(asked)]

    def delete_session(self, session_id: str) -> None:
        """Removes a session, its runs and their events."""
        runs = select(_runs.c.run_id).where(_runs.c.session_id == session_id)
        with self._transaction() as connection:
            connection.execute(delete(_events).where(_events.c.run_id.in_(runs)))
            connection.execute(delete(_runs).where(_runs.c.session_id == session_id))
            connection.execute(delete(_sessions).where(_sessions.c.session_id == session_id))

    def run(self, run_id: str) -> RunRecord | None:
        """Returns one run."""
        with self._transaction() as connection:
            row = connection.execute(select(_runs).where(_runs.c.run_id == run_id)).one_or_none()
        return None if row is None else _run(row)

    def runs(self, session_id: str) -> list[RunRecord]:
        """Returns the runs of a session, the oldest first."""
        asked = select(_runs).where(_runs.c.session_id == session_id).order_by(literal_column("runs.rowid"))
        with self._transaction() as connection:
            return [_run(row) for row in connection.execute(asked)]

    def begin(self, session: SessionRecord, run: RunRecord) -> SessionRecord:
        """Adds a run, and its session if that is new. Returns the session as it stands."""
        with self._transaction() as connection:
            asked = select(_sessions).where(_sessions.c.session_id == session.session_id)
            found = connection.execute(asked).one_or_none()
            if found is None:
                connection.execute(insert(_sessions).values(_columns(session)))
            connection.execute(insert(_runs).values(_columns(run)))
        return session if found is None else _session(found)

    def move(self, run_id: str, before: Sequence[str], after: str) -> bool:
        """Changes the status of a run, if it is one of those expected. Returns whether it was."""
        moving = update(_runs).where(_runs.c.run_id == run_id, _runs.c.status.in_(before))
        with self._transaction() as connection:
            return connection.execute(moving.values(status=after, updated_at=int(time.time()))).rowcount == 1

    def end(self, run: RunRecord, session_state: dict[str, Any] | None) -> None:
        """Keeps how a run ended or paused, and what its session remembers, if that is given."""
        remembered = {} if session_state is None else {"state": msgspec.json.encode(session_state)}
        with self._transaction() as connection:
            connection.execute(update(_runs).where(_runs.c.run_id == run.run_id).values(_columns(run)))
            changing = update(_sessions).where(_sessions.c.session_id == run.session_id)
            connection.execute(changing.values(updated_at=run.updated_at, **remembered))

    def add_events(self, events: Sequence[tuple[str, int, str, bytes]]) -> None:
        """Adds events: run id, index, name and JSON of each."""
        rows = [dict(zip(("run_id", "position", "name", "body"), each, strict=True)) for each in events]
        with self._transaction() as connection:
            connection.execute(insert(_events), rows)

    def events(self, run_id: str, after: int, most: int) -> list[tuple[int, str, bytes]]:
        """Returns events of a run with a greater index, in order."""
        asked = (
            select(_events.c.position, _events.c.name, _events.c.body)
            .where(_events.c.run_id == run_id, _events.c.position > after)
            .order_by(_events.c.position)
            .limit(most)
        )
        with self._transaction() as connection:
            return [(row.position, row.name, row.body) for row in connection.execute(asked)]


def _prepare(connection: Any, _record: object) -> None:  # noqa: ANN401  # whatever the driver has
    """Makes what was committed survive a power cut, without a file that is rewritten whole."""
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 5000"):
        connection.execute(f"PRAGMA {pragma}")


def _columns(record: SessionRecord | RunRecord) -> dict[str, Any]:
    values = msgspec.structs.asdict(record)
    return {name: msgspec.json.encode(value) if name in _JSON else value for name, value in values.items()}


def _members(row: Row[Any]) -> dict[str, Any]:
    values: dict[str, Any] = dict(row._mapping)  # noqa: SLF001  # SQLAlchemy's public name for it
    return {name: msgspec.json.decode(value) if name in _JSON else value for name, value in values.items()}


def _session(row: Row[Any]) -> SessionRecord:
    return SessionRecord(**_members(row))


def _run(row: Row[Any]) -> RunRecord:
    return RunRecord(**_members(row))
