"""The default database: one SQLite file, with a lock file beside it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError

from spanwise.database.commit_count import CommitCount, changes_of
from spanwise.database.faults import opening_error
from spanwise.database.integrity import keep_undecodable_text, rebuild_damaged_indexes
from spanwise.database.sql import SqlDatabase
from spanwise.database.tables import FORMAT
from spanwise.database.upgrade import UPGRADED_FORMAT, upgrade
from spanwise.errors import ConfigurationError, RecordDamagedError, StoreLockedError, UnavailableError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from spanwise.database.records import RunRecord

MAX_CHECKED_BYTES = 1024**3
"""The largest file whose structure is checked on opening. The check takes some seconds per GiB."""
NEW = 0
"""The version of an empty file."""


class SqliteDatabase(SqlDatabase):
    """Sessions, runs and events in one file.

    Attributes:
        path: the file.
    """

    def __init__(self, path: str | Path) -> None:
        """Creates a database without accessing the file."""
        super().__init__(insert)
        self.path = Path(path)
        self._scheme, is_address, _ = str(path).partition("://")
        self._is_address = bool(is_address)
        self._lock: int | None = None
        self._commits: CommitCount | None = None

    def open(self) -> list[RunRecord]:
        """Opens the file, creating it if necessary, and returns the runs that an earlier process left unfinished.

        Raises:
            ConfigurationError: the file cannot be opened, or has another version.
            StoreLockedError: another process, or another service in this process, has it open.
        """
        if self._is_address:
            raise ConfigurationError(
                f"sessions and runs cannot be stored at a `{self._scheme}` address: "
                "set `database_url` to a postgresql:// address, or `db` to the path of a SQLite file"
            )
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._acquire_lock()
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._commits = CommitCount(self.path)
            self._engine = create_engine(f"sqlite:///{self.path}", connect_args={"check_same_thread": False})
            event.listen(self._engine, "connect", _configure)
            self._expect_format()
            return self._create()
        except (OSError, SQLAlchemyError, RecordDamagedError, UnavailableError) as error:
            self.close()
            raise ConfigurationError(f"cannot open the database `{self.path}`: {opening_error(error)}") from error
        except ConfigurationError:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file and releases the lock."""
        super().close()
        if self._commits is not None:
            self._commits.close()
            self._commits = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        """Begins a transaction. It gets a number if it changes something."""
        number, commits = 0, self._commits
        assert commits is not None, "opened before it is used"  # noqa: S101  # callers open it first
        with super()._begun() as connection:
            before = changes_of(connection)
            yield connection
            if changes_of(connection) > before:
                number = commits.count(connection)
        commits.note(number)

    def _acquire_lock(self) -> None:
        """Locks a separate file. Closing any handle of the database file would release SQLite's locks on it."""
        path = self.path.resolve()
        path = path.with_name(f"{path.name}.lock")
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            _lock_file(lock)
        except BlockingIOError as error:
            os.close(lock)
            raise StoreLockedError(f"another process has the database `{self.path}` open") from error
        self._lock = lock

    def _expect_format(self) -> None:
        with self._transaction() as connection:
            found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if found not in (NEW, UPGRADED_FORMAT, FORMAT):
                raise ConfigurationError(
                    f"the database `{self.path}` has version {found}, this program reads {FORMAT}: "
                    "move it away to begin anew"
                )
            # These statements are the first to change the file. Foreign files were rejected above.
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            if found == UPGRADED_FORMAT:
                # The driver commits after each statement, unless a transaction is open.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                upgrade(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")
            if self._commits is not None:
                self._commits.begin(connection, self.path)
            if self.path.stat().st_size <= MAX_CHECKED_BYTES:
                rebuild_damaged_indexes(connection, self.path)


def _configure(connection: Any, _record: object) -> None:  # noqa: ANN401  # the driver's connection
    """Makes commits survive a power cut, and enables the detection of damage."""
    keep_undecodable_text(connection)
    for pragma in ("synchronous = FULL", "busy_timeout = 5000"):
        connection.execute(f"PRAGMA {pragma}")


def _lock_file(descriptor: int) -> None:
    """Locks an open file until it is closed.

    Raises:
        BlockingIOError: another process has locked it.
        ConfigurationError: this system has no such locks.
    """
    if sys.platform == "win32":
        raise ConfigurationError("a database in a file needs Linux or macOS")
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
