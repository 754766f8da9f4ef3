"""A PostgreSQL server from Debian's packages, in a temporary folder on a free loopback port."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from support.servers import skip_missing
from support.services.process import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "keeper"
PASSWORD = "a secret: p@ss/word?"  # noqa: S105  # the server lives for seconds
UNPRIVILEGED = ("postgres", "nobody")
"""Users for the server when the tests run as root, which PostgreSQL rejects."""


@cache
def binaries() -> Path | None:
    """Returns the folder with the programs of the newest installed server."""
    found = shutil.which("initdb")
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *([Path(found).resolve().parent] if found else [])]
    usable = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return max(usable, key=lambda folder: folder.parent.name, default=None)


class PostgresqlServer:
    """A test server; `running` starts and stops one.

    Attributes:
        port: the port it listens on.
    """

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._binaries = binaries
        self._databases = 0
        secret = folder / "password"
        secret.write_text(PASSWORD, "utf-8")
        if os.geteuid() == 0:
            for path in (folder, secret):
                shutil.chown(path, _unprivileged())
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run("initdb", "-D", str(folder / "data"), "-U", USER, "--pwfile", str(secret), *options)

    def start(self) -> None:
        """Starts the server and waits until it accepts connections."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories='' -c fsync=off"
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "-w", "-D", str(self._folder / "data"), "-l", log, "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stops the server and waits for its exit; `immediate` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-D", str(self._folder / "data"), "-m", mode)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Makes the transactions of all sessions read-only within the block."""
        self.begin_read_only()
        try:
            yield
        finally:
            self.end_read_only()

    def begin_read_only(self) -> None:
        """Makes transactions of all sessions read-only, including open sessions."""
        self._configure("ALTER SYSTEM SET default_transaction_read_only = on")

    def end_read_only(self) -> None:
        """Lets all sessions write again."""
        self._configure("ALTER SYSTEM RESET default_transaction_read_only")

    def _configure(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())
            before = connection.execute("SELECT pg_conf_load_time()").fetchone()
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SELECT pg_conf_load_time()").fetchone() == before:
                pass
        # Open sessions reload the file before their next statement, after a signal from the postmaster.

    @contextmanager
    def standby(self) -> Iterator[None]:
        """Starts a stopped server in recovery, at the end of its own log. Restarts it normally at the end."""
        signal = self._folder / "data" / "standby.signal"
        signal.touch()
        try:
            self.start()
            yield
        finally:
            self.stop("immediate")
            signal.unlink()
            self.start()

    def create_database(self) -> str:
        """Creates an empty database and returns its address."""
        self._databases += 1
        name = f"runs_{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def url(self, name: str) -> str:
        """Returns the address of a database."""
        return f"postgresql://{USER}:a%20secret%3A%20p%40ss%2Fword%3F@127.0.0.1:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        user = _unprivileged() if os.geteuid() == 0 else None
        # A pipe would not work: the server inherits it, and reading would wait for the server's exit.
        with (self._folder.parent / f"{self._folder.name}.{program}.log").open("wb") as log:
            done = subprocess.run(
                [str(self._binaries / program), *arguments],
                user=user,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
        assert done.returncode == 0, Path(log.name).read_text()
        Path(log.name).unlink()


@contextmanager
def running() -> Iterator[PostgresqlServer]:
    """Yields a running server; skips the test if PostgreSQL is not installed."""
    found = binaries()
    if found is None:
        skip_missing("PostgreSQL is not installed")
    # Only this user may read pytest's folder, but the server may run as another user.
    with tempfile.TemporaryDirectory(prefix="spanwise-postgresql-") as folder:
        server = PostgresqlServer(Path(folder), found)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


def _unprivileged() -> str:
    import pwd  # noqa: PLC0415  # only on Unix

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in UNPRIVILEGED if name in names)
