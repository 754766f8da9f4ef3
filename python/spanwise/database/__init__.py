"""What was said and run? Sessions, runs and their events, kept where a restart finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.database.postgresql import SCHEMES, PostgresqlDatabase
from spanwise.database.records import Database, RunRecord, SessionRecord, SessionsAsked
from spanwise.database.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "SCHEMES",
    "Database",
    "PostgresqlDatabase",
    "RunRecord",
    "SessionRecord",
    "SessionsAsked",
    "SqliteDatabase",
    "database_at",
]


def database_at(place: str | Path) -> Database:
    """Returns the database at the URL of a PostgreSQL server, or in a SQLite file; nothing is opened.

    Raises:
        ConfigurationError: the URL cannot be read, or the extra `postgresql` is not installed.
    """
    text = str(place)
    return PostgresqlDatabase(text) if text.startswith(SCHEMES) else SqliteDatabase(text)
