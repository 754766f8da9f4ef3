"""A real PostgreSQL server of Debian's packages, in a folder of its own, on a free port of the loopback."""

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
import pytest

from support.service import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDED = "TESTS_SKIP_NOTHING"
"""Set where a machine must have the server: there it is a failure that it has none."""

USER = "keeper"
PASSWORD = "a secret: p@ss/word?"  # noqa: S105  # of a server that lives for seconds
UNPRIVILEGED = ("postgres", "nobody")
"""Who runs the server where we are root, whom it refuses."""


@cache
def binaries() -> Path | None:
    """Returns the folder of the newest server that is installed."""
    found = shutil.which("initdb")
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *([Path(found).resolve().parent] if found else [])]
    usable = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return max(usable, key=lambda folder: folder.parent.name, default=None)


class Server:
    """One server. Always leave it by `running`.

    Attributes:
        port: where it listens.
        url: its address, without a database; everybody is let in who knows the password.
    """

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._binaries = binaries
        self._made = 0
        secret = folder / "password"
        secret.write_text(PASSWORD, "utf-8")
        if os.geteuid() == 0:
            for path in (folder, secret):
                shutil.chown(path, _unprivileged())
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run("initdb", "-D", str(folder / "data"), "-U", USER, "--pwfile", str(secret), *options)

    def start(self) -> None:
        """Returns when it takes connections."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories='' -c fsync=off"
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "-w", "-D", str(self._folder / "data"), "-l", log, "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Returns when it has ended; `immediate` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-D", str(self._folder / "data"), "-m", mode)

    def new(self) -> str:
        """Returns the address of a new, empty database."""
        self._made += 1
        name = f"runs_{self._made}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def url(self, name: str) -> str:
        """Returns the address of a database."""
        return f"postgresql://{USER}:a%20secret%3A%20p%40ss%2Fword%3F@127.0.0.1:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        user = _unprivileged() if os.geteuid() == 0 else None
        # What it starts lives on: with a pipe we would wait for the end of the server.
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
def running() -> Iterator[Server]:
    """Gives a server that runs; skips the test where it is not installed."""
    found = binaries()
    if found is None:
        message = "PostgreSQL is not installed"
        assert NEEDED not in os.environ, message
        pytest.skip(message)
    # Not below pytest's folder, which is ours alone: the server is run by another user.
    with tempfile.TemporaryDirectory(prefix="spanwise-postgresql-") as folder:
        server = Server(Path(folder), found)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


def _unprivileged() -> str:
    import pwd  # noqa: PLC0415  # not everywhere

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in UNPRIVILEGED if name in names)
