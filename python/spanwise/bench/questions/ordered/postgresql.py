"""PostgreSQL with indexes on the ids, on owners, on times and on durations: a server of its own, on a Unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from spanwise.bench.errors import ServerError
from spanwise.bench.peers import QueryResult
from spanwise.bench.peers.sql import Dialect, ilike, run_queries, session_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.bench.peers import Query

_USER = "bench"
_UNPRIVILEGED = ("postgres", "nobody")
"""Users to run the server as for root, as which it refuses to run."""
_SETTINGS = {
    "listen_addresses": "''",
    "fsync": "off",
    "shared_buffers": "2GB",
    "work_mem": "256MB",
    "maintenance_work_mem": "1GB",
    "max_wal_size": "8GB",
}
_COLUMNS = (
    "trace_id text PRIMARY KEY, run_id text, session_id text, user_id text, agent_id text, name text, status text, "
    "duration_ms bigint, start_time timestamp"
)
_INDEXES = (
    *((key,) for key in ("run_id", "session_id")),
    *((key, "start_time DESC", "trace_id") for key in ("user_id", "agent_id", "name", "status")),
    ("start_time DESC", "trace_id"),
    ("duration_ms DESC", "start_time DESC", "trace_id"),
)
_BATCH = 65_536
_DIALECT = Dialect(
    instant=lambda text: f"TIMESTAMP '{text}'",
    contains_ignoring_case=ilike,
    contains=lambda key, text: f"strpos({key}, {text}) > 0",
    starts_with=lambda key, text: f"({key} ^@ {text})",
)


def absent() -> str | None:
    """Returns why it cannot be had here; None if it can."""
    if not find_spec("psycopg"):
        return "psycopg is not installed"
    return None if _binaries() else "PostgreSQL is not installed"


def _binaries() -> Path | None:
    """Returns the folder with the programs of the newest installed server."""
    on_path = shutil.which("initdb")
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *([Path(on_path).resolve().parent] if on_path else [])]
    usable = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return max(usable, key=lambda folder: folder.parent.name, default=None)


class PostgreSQL:
    """A server with one table, and a connection; both end when it is closed."""

    def __init__(self, rows: pa.Table) -> None:
        """Starts the server, and copies `rows` into its table.

        Raises:
            ServerError: a program of the server failed.
        """
        # Not below the folder of the benchmark, which another user may be unable to reach.
        self._folder = Path(tempfile.mkdtemp(prefix="spanwise-bench-"))
        if os.geteuid() == 0:
            shutil.chown(self._folder, _unprivileged())
        data = str(self._folder / "data")
        # In the locale C texts are compared by their bytes, as by all other engines.
        self._run("initdb", "-D", data, "-U", _USER, "--encoding=UTF8", "--locale=C", "--auth=trust", "--no-sync")
        options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        log = str(self._folder / "log")
        options += f" -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options)
        try:
            self._connection = self._filled(rows)
        except BaseException:  # Ctrl-C too: nobody else ends the server
            self._stop()
            raise

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`."""
        if query.group_by == "session":
            grouped = session_query(query, _DIALECT)

            def find_sessions() -> QueryResult:
                found = self._rows(grouped)
                return QueryResult([session_id for session_id, _ in found], found[0][1] if found else 0)

            return find_sessions
        page, count = run_queries(query, _DIALECT)

        def find_runs() -> QueryResult:
            ids = [trace_id for (trace_id,) in self._rows(page)]
            ((total,),) = self._rows(count)
            return QueryResult(ids, total)

        return find_runs

    def close(self) -> None:
        """Closes the connection, stops the server and removes its files."""
        self._connection.close()
        self._stop()

    def _filled(self, rows: pa.Table) -> Any:  # noqa: ANN401  # psycopg is imported where it is installed
        import psycopg  # noqa: PLC0415  # likewise

        connection = psycopg.connect(host=str(self._folder), user=_USER, dbname="postgres", autocommit=True)
        connection.execute(f"CREATE TABLE traces ({_COLUMNS})".encode())
        with connection.cursor().copy("COPY traces FROM STDIN (FORMAT csv)") as copy:
            options = pa.csv.WriteOptions(include_header=False)
            for batch in rows.to_batches(max_chunksize=_BATCH):
                sink = pa.BufferOutputStream()
                pa.csv.write_csv(batch, sink, options)
                copy.write(sink.getvalue().to_pybytes())
        for columns in _INDEXES:
            connection.execute(f"CREATE INDEX ON traces ({', '.join(columns)})".encode())
        connection.execute("VACUUM ANALYZE traces")
        return connection

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._connection.execute(text.encode()).fetchall()
        return found

    def _stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-D", str(self._folder / "data"), "-m", "immediate")
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        folder = _binaries()
        user = _unprivileged() if os.geteuid() == 0 else None
        # Not a pipe: the server inherits it, and reading would wait for the end of the server.
        with tempfile.TemporaryFile() as log:
            command = [str(folder and folder / program), *arguments]
            run = partial(subprocess.run, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
            done = run(command, user=user, cwd=self._folder)
            if done.returncode:
                log.seek(0)
                raise ServerError(f"`{program}` failed: {log.read().decode('utf-8', 'replace')[-1_000:]}")


def _unprivileged() -> str:
    import pwd  # noqa: PLC0415  # only on Unix

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in _UNPRIVILEGED if name in names)


def open_engine(rows: pa.Table, _: Path) -> PostgreSQL:
    """Returns PostgreSQL with a copy of `rows`."""
    return PostgreSQL(rows)
