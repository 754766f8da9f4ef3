"""DuckDB with a file: rows by start time, newest first, and indexes on the ids."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import duckdb

from spanwise.bench.peers.duckdb import DuckDB

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

_INDEXED = ("trace_id", "run_id", "session_id")


def absent() -> str | None:
    """Returns why it cannot be had here: DuckDB always can."""
    return None


class DuckDBFile(DuckDB):
    """A database in a file, which is removed when it is closed."""

    def __init__(self, rows: pa.Table, folder: Path) -> None:
        """Writes the rows and the indexes."""
        self._folder = folder / "duckdb"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        super().__init__(duckdb.connect(self._folder / "traces.duckdb"))
        self.database.register("rows", rows)
        self.database.execute("CREATE TABLE traces AS SELECT * FROM rows ORDER BY start_time DESC, trace_id")
        self.database.unregister("rows")
        for key in _INDEXED:
            self.database.execute(f"CREATE INDEX traces_{key} ON traces ({key})")
        self.database.execute("CHECKPOINT")

    def close(self) -> None:
        """Closes the database and removes its file."""
        super().close()
        shutil.rmtree(self._folder)


def open_engine(rows: pa.Table, folder: Path) -> DuckDBFile:
    """Returns DuckDB with a file of `rows`."""
    return DuckDBFile(rows, folder)
