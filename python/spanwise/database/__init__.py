"""The durable database of sessions, runs and their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.database.records import (
    ComponentSession,
    Database,
    RunRecord,
    SessionKey,
    SessionPageQuery,
    SessionRecord,
    SessionRunQuery,
    StoredBytes,
)
from spanwise.database.schemes import POSTGRESQL
from spanwise.database.session_ids import unique_session_id

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "POSTGRESQL",
    "ComponentSession",
    "Database",
    "RunRecord",
    "SessionKey",
    "SessionPageQuery",
    "SessionRecord",
    "SessionRunQuery",
    "StoredBytes",
    "database_at",
    "unique_session_id",
]


def database_at(location: str | Path) -> Database:
    """Returns a database without opening it. Imports SQLAlchemy, which is slow.

    Args:
        location: a PostgreSQL URL, or the path of a SQLite file.

    Raises:
        ConfigurationError: the URL is invalid, or the extra `postgresql` is not installed.
    """
    text = str(location)
    if text.startswith(POSTGRESQL):
        from spanwise.database.postgresql import PostgresqlDatabase  # noqa: PLC0415  # SQLAlchemy

        return PostgresqlDatabase(text)
    from spanwise.database.sqlite import SqliteDatabase  # noqa: PLC0415  # SQLAlchemy

    return SqliteDatabase(text)
