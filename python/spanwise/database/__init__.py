"""The database of sessions, runs and their events, which survive a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.database.postgresql import SCHEMES, PostgresqlDatabase
from spanwise.database.records import Database, KeptSession, RunRecord, SessionKey, SessionPageQuery, SessionRecord
from spanwise.database.session_ids import unique_session_id
from spanwise.database.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "SCHEMES",
    "Database",
    "KeptSession",
    "PostgresqlDatabase",
    "RunRecord",
    "SessionKey",
    "SessionPageQuery",
    "SessionRecord",
    "SqliteDatabase",
    "database_at",
    "unique_session_id",
]


def database_at(location: str | Path) -> Database:
    """Returns a database without opening it.

    Args:
        location: a PostgreSQL URL, or the path of a SQLite file.

    Raises:
        ConfigurationError: the URL is invalid, or the extra `postgresql` is not installed.
    """
    text = str(location)
    return PostgresqlDatabase(text) if text.startswith(SCHEMES) else SqliteDatabase(text)
