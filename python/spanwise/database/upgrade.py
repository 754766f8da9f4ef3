"""The upgrade of a database of version 2, in which a session id was unique among all users.

The caller runs it in one transaction, so a process that is killed leaves version 2 or the current one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import column, func, insert, inspect, literal, select, table, true, update
from sqlalchemy.schema import CreateColumn, CreateTable

from spanwise.database.tables import FORMAT, runs, sessions

if TYPE_CHECKING:
    from sqlalchemy import Connection

UPGRADED_FORMAT = 2
_OLD_SESSIONS = "sessions_2"
_OLD_INDEXES = ("sessions_by_start", "sessions_by_change", "sessions_by_name", "sessions_by_user", "runs_by_session")
_COPIED = ("session_id", "kind", "component_id", "name", "folded_name", "state", "metadata", "created_at", "updated_at")

assert FORMAT == UPGRADED_FORMAT + 1  # noqa: S101  # what follows creates the tables as they are now


def upgrade(connection: Connection) -> None:
    """Changes the tables of version 2 into the current ones. The owner of a session becomes part of its key.

    Tables may be missing: they were created after the version was stored. So may indexes; the
    caller creates those of the other tables.

    Args:
        connection: in a transaction.
    """
    existing = set(inspect(connection).get_table_names())
    for name in _OLD_INDEXES:
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
    if "sessions" in existing:
        connection.exec_driver_sql(f"ALTER TABLE sessions RENAME TO {_OLD_SESSIONS}")
    connection.execute(CreateTable(sessions))
    for index in sessions.indexes:  # the runs look their sessions up by id
        index.create(connection)
    if "sessions" in existing:
        _copy_sessions(connection)
    if "runs" in existing:
        _extend_runs(connection)


def _copy_sessions(connection: Connection) -> None:
    """Copies the sessions to the new table, since a primary key cannot be changed in place everywhere."""
    old = table(_OLD_SESSIONS, column("user_id"), *map(column, _COPIED))
    rows = select(func.coalesce(old.c.user_id, literal("")), true(), *(old.c[name] for name in _COPIED))
    connection.execute(insert(sessions).from_select(["owner", "is_first", *_COPIED], rows))
    connection.exec_driver_sql(f"DROP TABLE {_OLD_SESSIONS}")


def _extend_runs(connection: Connection) -> None:
    """Adds the new columns of runs. A run gets the owner of its session."""
    for added in (runs.c.owner, runs.c.keeps_session):
        definition = CreateColumn(added).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE runs ADD COLUMN {definition}")
    owner = select(sessions.c.owner).where(sessions.c.session_id == runs.c.session_id).scalar_subquery()
    connection.execute(update(runs).values(owner=func.coalesce(owner, "")))
