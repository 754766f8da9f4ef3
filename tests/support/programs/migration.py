"""Processes that open new or older stores and databases, and may be killed at any moment.

`python -m support.programs.migration store FOLDER` opens a trace store and rewrites all of it in the current format.
`python -m support.programs.migration databases FOLDER` opens run databases `0.db`, `1.db` and so on. Each is opened in
a child process that dies one SQL statement later than the previous one, until one survives. The program prints the
number that died. Each database starts as a copy of `old.db`, if that exists.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from itertools import count
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.engine import Engine

from spanwise import TraceStore
from spanwise.database.sqlite import SqliteDatabase


def renew_store(folder: str) -> None:
    """Opens a store, which replays its write-ahead log and rebuilds its indexes, and rewrites its segments.

    Prints `begun`, then `done SECONDS`.
    """
    os.write(1, b"begun\n")
    begun = time.monotonic()
    store = TraceStore.open(folder)
    store.compact()
    store.close()
    os.write(1, f"done {time.monotonic() - begun}\n".encode())


def open_databases(folder: Path) -> None:
    """Opens databases, each in a child process that dies one statement later than the previous one."""
    for statements in count():
        path = folder / f"{statements}.db"
        if (folder / "old.db").exists():
            shutil.copy(folder / "old.db", path)
        child = os.fork()
        if child == 0:
            open_database(path, statements)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            os.write(1, f"{statements}\n".encode())
            return


def open_database(path: Path, statements: int) -> None:
    """Opens a database, but kills this process before statement number `statements`."""
    numbers = count()

    def die(*_: object) -> None:
        if next(numbers) == statements:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", die)
    database = SqliteDatabase(path)
    database.open()
    database.close()


if __name__ == "__main__":
    if sys.argv[1] == "store":
        renew_store(sys.argv[2])
    else:
        open_databases(Path(sys.argv[2]))
