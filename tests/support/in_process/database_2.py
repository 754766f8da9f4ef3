"""Run databases as version 2 wrote them, for upgrades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import BigInteger, Column, Identity, Index, Integer, LargeBinary, MetaData, String, Table, insert

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSION = 2
_JSON = {"state", "metadata", "message", "result", "paused", "trace"}


def tables_of(dialect: str) -> tuple[MetaData, Table, Table, Table]:
    """Returns the tables of version 2: all of them, then sessions, runs and events."""
    name = String(collation="C") if dialect == "postgresql" else String()
    number = BigInteger().with_variant(Integer(), "sqlite")
    tables = MetaData()
    sessions = Table(
        "sessions",
        tables,
        Column("session_id", name, primary_key=True),
        Column("user_id", name),
        Column("kind", name, nullable=False),
        Column("component_id", name),
        Column("name", name, nullable=False),
        Column("folded_name", name, nullable=False),
        Column("state", LargeBinary, nullable=False),
        Column("metadata", LargeBinary, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        Index("sessions_by_start", "created_at", "session_id"),
        Index("sessions_by_change", "updated_at", "session_id"),
        Index("sessions_by_name", "name", "session_id"),
        Index("sessions_by_user", "user_id", "created_at", "session_id"),
    )
    runs = Table(
        "runs",
        tables,
        Column("number", number, Identity(), primary_key=True),
        Column("run_id", name, nullable=False, unique=True),
        Column("session_id", name, nullable=False),
        Column("user_id", name),
        Column("kind", name, nullable=False),
        Column("component_id", name, nullable=False),
        Column("status", name, nullable=False),
        Column("message", LargeBinary, nullable=False),
        Column("result", LargeBinary, nullable=False),
        Column("paused", LargeBinary, nullable=False),
        Column("trace", LargeBinary, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        Index("runs_by_session", "session_id", "number"),
        Index("runs_by_status", "status"),
    )
    events = Table(
        "events",
        tables,
        Column("run_id", name, primary_key=True),
        Column("position", BigInteger, primary_key=True),
        Column("name", name, nullable=False),
        Column("body", LargeBinary, nullable=False),
    )
    return tables, sessions, runs, events


def write_version_2(connection: Connection, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Creates the tables of version 2 and adds rows. JSON columns take plain values.

    Args:
        connection: a connection to an empty database.
        rows: the rows by the name of their table.
    """
    tables, *_ = tables_of(connection.dialect.name)
    tables.create_all(connection)
    for name, added in rows.items():
        for row in added:
            values = {key: msgspec.json.encode(value) if key in _JSON else value for key, value in row.items()}
            connection.execute(insert(tables.tables[name]).values(values))
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
    else:
        connection.exec_driver_sql(f"CREATE TABLE format AS SELECT {VERSION} AS version")


def session_row(session_id: str, user_id: str | None) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "user_id": user_id,
        "kind": "agent",
        "component_id": "echo",
        "name": "Größe",
        "folded_name": "grösse",
        "state": {"a": [1, "\u2028"]},
        "metadata": {"b": 1},
        "created_at": 2**40,
        "updated_at": 7,
    }


def run_row(run_id: str, session_id: str, user_id: str | None) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "session_id": session_id,
        "user_id": user_id,
        "kind": "agent",
        "component_id": "echo",
        "status": "PAUSED",
        "message": "nul \0",
        "result": {"content": run_id},
        "paused": {"state": None},
        "trace": {},
        "created_at": 3,
        "updated_at": 4,
    }


EXAMPLE: dict[str, list[dict[str, Any]]] = {
    "sessions": [session_row("of ann", "ann"), session_row("of nobody", None), session_row("é", "eve")],
    "runs": [run_row("r3", "of ann", "ann"), run_row("r1", "of nobody", "bob"), run_row("r2", "of ann", None)],
    "events": [{"run_id": "r1", "position": 0, "name": "RunStarted", "body": b"{}"}],
}
"""Sessions with a user, without a user, and without runs."""
