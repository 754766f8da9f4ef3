"""The schemes of the URLs of databases; any other location is the path of a SQLite file."""

from __future__ import annotations

POSTGRESQL = ("postgresql://", "postgres://")
