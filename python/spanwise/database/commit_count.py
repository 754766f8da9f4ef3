"""Counts the transactions of a SQLite file, to detect lost ones.

After a kill, the newest transactions are only in SQLite's write-ahead file. SQLite takes damage in that file for its
end. Each transaction that changes something therefore writes its number into the database file, and after the commit
into `<file>.commits`. A database file with a lower number has lost acknowledged transactions.

`<file>.commits` is not synced, because that would double the time of a commit. It survives a kill, but its number may
be too low after a power cut.

Source: https://www.sqlite.org/walformat.html#recovery and docs/reference/storage.md#database-of-runs.
"""

from __future__ import annotations

import logging
import os
import threading
import zlib
from typing import TYPE_CHECKING

from sqlalchemy.exc import DatabaseError, OperationalError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

_DIGITS = 19
_log = logging.getLogger(__name__)


def changes_of(connection: Connection) -> int:
    """Returns the number of rows that a connection has changed since it was opened."""
    driver = connection.connection.driver_connection
    assert driver is not None, "an open connection"  # noqa: S101  # callers hold it
    return int(driver.total_changes)


def lost_transactions(connection: Connection, noted: int) -> int:
    """Returns how many of the newest transactions a file has lost.

    Args:
        connection: a connection to the file.
        noted: the result of `noted_beside` from before the connection was used.
    """
    return max(0, noted - _stored_in(connection))


def noted_beside(path: Path) -> int:
    """Returns the number in `<file>.commits`; 0 if it is missing or cannot be read."""
    note = _note_of(path)
    try:
        text = note.read_bytes()
    except FileNotFoundError:
        return 0
    number, _, checksum = text.partition(b" ")
    if number.isdigit() and checksum == _checksum(number):
        return int(number)
    if text:
        _log.error("the number of transactions beside the database of runs is damaged: `%s`", note)
    return 0


def lost_text(path: Path, lost: int) -> str:
    """Returns the error message about lost transactions."""
    return (
        f"the database of runs `{path}` has lost its {lost} newest transactions: "
        f"`{path.name}-wal` is damaged or missing, or the file is an older copy"
    )


class CommitCount:
    """The number of the newest transaction of an open file."""

    def __init__(self, path: Path) -> None:
        """Opens `<file>.commits`, creating it if necessary.

        Raises:
            OSError: it cannot be opened.
        """
        self._noted = self._number = noted_beside(path)
        flags = os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        self._note = os.open(_note_of(path), flags, 0o600)
        self._lock = threading.Lock()
        self._is_counting = True

    def begin(self, connection: Connection, path: Path) -> None:
        """Creates the number in the file if necessary, and logs how many transactions the file has lost."""
        try:
            if lost := lost_transactions(connection, self._noted):
                _log.error("%s", lost_text(path, lost))
            connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS commits (number INTEGER NOT NULL)")
            self._number = max(self._number, _stored_in(connection))
        except DatabaseError as error:
            self._give_up(error)

    def count(self, connection: Connection) -> int:
        """Writes the number of a transaction that has changed something and therefore holds the write lock.

        Returns the number, or 0 if numbers can no longer be written.
        """
        if not self._is_counting:
            return 0
        self._number += 1
        try:
            changed = connection.exec_driver_sql("UPDATE commits SET number = ?", (self._number,))
            if changed.rowcount == 0:
                connection.exec_driver_sql("INSERT INTO commits (number) VALUES (?)", (self._number,))
        except DatabaseError as error:
            self._give_up(error)
            return 0
        return self._number

    def _give_up(self, error: DatabaseError) -> None:
        """Stops counting if the number in the file is damaged. Nothing else needs it."""
        if isinstance(error, OperationalError):
            raise error
        self._is_counting = False
        _log.error("the number of transactions in the database of runs is damaged: %s", error.orig)

    def note(self, number: int) -> None:
        """Writes the number of a committed transaction to `<file>.commits`."""
        with self._lock:
            if number <= self._noted:
                return
            self._noted = number
            digits = b"%0*d" % (_DIGITS, number)
            try:
                os.pwrite(self._note, digits + b" " + _checksum(digits), 0)
            except OSError as error:  # the transaction is committed anyway
                _log.warning("a number of transactions cannot be written: %s", error)

    def close(self) -> None:
        """Closes `<file>.commits`."""
        os.close(self._note)


def _stored_in(connection: Connection) -> int:
    """Returns the number in a file; 0 if it is missing."""
    if connection.exec_driver_sql("SELECT 1 FROM sqlite_schema WHERE name = 'commits'").first() is None:
        return 0
    stored = connection.exec_driver_sql("SELECT max(number) FROM commits").scalar_one()
    if stored is not None and not isinstance(stored, int):
        _log.error("the number of transactions in the database of runs is damaged: %r", stored)
    return stored if isinstance(stored, int) else 0


def _note_of(path: Path) -> Path:
    path = path.resolve()
    return path.with_name(f"{path.name}.commits")


def _checksum(digits: bytes) -> bytes:
    return b"%08x\n" % zlib.crc32(digits)
