"""The upgrade from version 2, in which session ids were unique across users and rows had no checksums.

The caller runs it in one transaction. A killed process leaves either version 2 or the current version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, column, func, insert, inspect, literal, select, table, true, tuple_, update
from sqlalchemy.schema import CreateColumn, CreateTable

from spanwise.database.checksums import CHECKSUM, with_checksum
from spanwise.database.tables import FORMAT, events, runs, sessions, tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Table

UPGRADED_FORMAT = 2
BATCH = 1000
"""The number of rows in memory at once."""
_KEY, _CHECKSUM = "key_", "new_checksum"
_OLD_SESSIONS = "sessions_2"
_OLD_INDEXES = ("sessions_by_start", "sessions_by_change", "sessions_by_name", "sessions_by_user", "runs_by_session")
_COPIED = ("session_id", "kind", "component_id", "name", "folded_name", "state", "metadata", "created_at", "updated_at")

assert FORMAT == UPGRADED_FORMAT + 1  # noqa: S101  # the code below creates the current tables


def upgrade(connection: Connection) -> None:
    """Converts the tables of version 2 into the current ones.

    The owner of a session becomes part of its key, and every row gets its checksum.

    Tables may be missing, because version 2 stored its version before it created them. Indexes may be missing too. The
    caller creates the indexes of all tables except `sessions`.

    Args:
        connection: a connection in a transaction.
    """
    existing = set(inspect(connection).get_table_names())
    for name in _OLD_INDEXES:
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
    if "sessions" in existing:
        connection.exec_driver_sql(f"ALTER TABLE sessions RENAME TO {_OLD_SESSIONS}")
    connection.execute(CreateTable(sessions))
    for index in sessions.indexes:  # runs look up their sessions by id
        index.create(connection)
    if "sessions" in existing:
        _copy_sessions(connection)
    if "runs" in existing:
        _extend_runs(connection)
    if "events" in existing:
        _add_columns(connection, events, [CHECKSUM])
    for changed in (each for each in tables.sorted_tables if each.name in existing):
        _add_checksums(connection, changed)


def _copy_sessions(connection: Connection) -> None:
    """Copies the sessions to the new table, because some databases cannot change a primary key in place."""
    old = table(_OLD_SESSIONS, column("user_id"), *map(column, _COPIED))
    rows = select(func.coalesce(old.c.user_id, literal("")), true(), literal(0), *(old.c[name] for name in _COPIED))
    connection.execute(insert(sessions).from_select(["owner", "is_first", CHECKSUM, *_COPIED], rows))
    connection.exec_driver_sql(f"DROP TABLE {_OLD_SESSIONS}")


def _extend_runs(connection: Connection) -> None:
    """Adds the new columns of runs. A run gets the owner of its session."""
    _add_columns(connection, runs, ["owner", "keeps_session", CHECKSUM])
    owner = select(sessions.c.owner).where(sessions.c.session_id == runs.c.session_id).scalar_subquery()
    connection.execute(update(runs).values(owner=func.coalesce(owner, "")))


def _add_columns(connection: Connection, changed: Table, names: Sequence[str]) -> None:
    for name in names:
        definition = CreateColumn(changed.c[name]).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {changed.name} ADD COLUMN {definition}")


def _add_checksums(connection: Connection, changed: Table) -> None:
    """Stores the checksum of every row, in batches ordered by primary key."""
    keys = list(changed.primary_key.columns)
    is_row = [key == bindparam(f"{_KEY}{key.name}") for key in keys]
    changing = update(changed).where(*is_row).values({CHECKSUM: bindparam(_CHECKSUM)})
    batch = select(changed).order_by(*keys).limit(BATCH)
    rows = connection.execute(batch).all()
    while rows:
        found: list[dict[str, Any]] = [dict(row._mapping) for row in rows]  # noqa: SLF001  # SQLAlchemy's public name
        checksums = [{_CHECKSUM: with_checksum(changed, row)[CHECKSUM]} for row in found]
        names = [{f"{_KEY}{key.name}": row[key.name] for key in keys} for row in found]
        connection.execute(changing, [left | right for left, right in zip(checksums, names, strict=True)])
        last = tuple_(*(literal(found[-1][key.name], key.type) for key in keys))
        rows = connection.execute(batch.where(tuple_(*keys) > last)).all()
