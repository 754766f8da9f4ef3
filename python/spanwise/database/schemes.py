"""The URL schemes of databases. Any other location is the path of a SQLite file."""

from __future__ import annotations

POSTGRESQL = ("postgresql://", "postgres://")
