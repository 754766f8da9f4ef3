"""The table of database errors: the message for callers, and whether a retry may succeed.

Sources: PostgreSQL documentation, "PostgreSQL Error Codes"; https://www.sqlite.org/rescode.html.
"""

from __future__ import annotations

import errno
import sqlite3
from typing import TYPE_CHECKING

from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError

from spanwise.errors import DatabaseAwayError, RecordDamagedError, SpanwiseError, UnavailableError

if TYPE_CHECKING:
    from sqlalchemy.exc import StatementError

AWAY = "the database of runs does not answer: check that its server runs; the service goes on when it is back"
SLOW = "the database of runs took too long: retry, or look for long transactions on its server"
READ_ONLY_SERVER = (
    "the database of runs is read-only: connect the service to the primary server, with "
    "`default_transaction_read_only` off"
)
READ_ONLY_FILE = (
    "the database of runs is read-only: let the user of the service write to its file and folder, then restart the "
    "service"
)
NOT_OPENED = (
    "the file of the database of runs cannot be opened: put it back, let the user of the service write to its folder, "
    "and restart the service"
)
LOCKED = "the database of runs is locked by another program: end the transaction of that program"
FULL = "the disk of the database of runs is full: free space on it"
DISK_FAILED = "the disk of the database of runs failed: check the disk and the system log"
EXHAUSTED = "the server of the database of runs is out of connections or memory: raise its limits"
DENIED = "the server of the database of runs rejects the user of the service: check its password and privileges"
MISSING = "tables of the database of runs are missing: restart the service, which creates them"
FAILED = "the database of runs failed: the log has the cause"

_BY_SQLSTATE = {
    "08": AWAY,
    "57P": AWAY,
    "25P": AWAY,
    "57014": SLOW,
    "55P03": SLOW,
    "40": SLOW,
    "25006": READ_ONLY_SERVER,
    "53100": FULL,
    "53": EXHAUSTED,
    "58": DISK_FAILED,
    "28": DENIED,
    "42501": DENIED,
    "3D000": MISSING,
    "3F000": MISSING,
    "42P01": MISSING,
}
"""Messages by SQLSTATE or a prefix of it. The longest match wins."""
_DAMAGED_SQLSTATES = ("XX001", "XX002")
_BY_RESULT_CODE = {
    sqlite3.SQLITE_READONLY: READ_ONLY_FILE,
    sqlite3.SQLITE_PERM: READ_ONLY_FILE,
    sqlite3.SQLITE_CANTOPEN: NOT_OPENED,
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_IOERR: DISK_FAILED,
}
"""Messages by primary result code."""
_DAMAGED_RESULT_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY = 0xFF
"""The mask of the primary code in an extended result code."""


def translated(error: StatementError) -> SpanwiseError | None:
    """Returns the error for callers; None for a programming error."""
    cause = error.orig
    if isinstance(cause, SpanwiseError):
        return cause
    if not isinstance(error, DBAPIError):
        return None
    if isinstance(cause, sqlite3.Error):
        return _of_file(error, cause)
    return _of_server(error)


def _of_file(error: DBAPIError, cause: sqlite3.Error) -> SpanwiseError | None:
    code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY
    if code in _DAMAGED_RESULT_CODES or type(error) is DatabaseError:  # the driver has no separate class for damage
        return RecordDamagedError(f"the database of runs is damaged: {cause}")
    if code == sqlite3.SQLITE_ERROR and str(cause).startswith("no such table"):
        return UnavailableError(MISSING)
    return _unavailable(error, _BY_RESULT_CODE.get(code))


def _of_server(error: DBAPIError) -> SpanwiseError | None:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if state in _DAMAGED_SQLSTATES:
        return RecordDamagedError(f"the database of runs is damaged: {_first_line(error.orig)}")
    if error.connection_invalidated or (not state and isinstance(error, OperationalError | InterfaceError)):
        return DatabaseAwayError(AWAY)
    prefixes = (state[:length] for length in range(len(state), 1, -1))
    return _unavailable(error, next((_BY_SQLSTATE[each] for each in prefixes if each in _BY_SQLSTATE), None))


def _unavailable(error: DBAPIError, message: str | None) -> SpanwiseError | None:
    if message == AWAY:
        return DatabaseAwayError(message)
    if message is None and not isinstance(error, OperationalError | InterfaceError):
        return None
    return UnavailableError(message or FAILED)


def opening_error(error: BaseException) -> str:
    """Returns why a database cannot be opened, on one line: the innermost cause, and the remedy if known."""
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    text = " ".join(str(cause).split())
    if isinstance(cause, PermissionError) or (isinstance(cause, OSError) and cause.errno == errno.EROFS):
        return f"{text}: let the user of the service write to the file and its folder"
    is_explained = (
        isinstance(error, UnavailableError) and not isinstance(error, DatabaseAwayError) and error is not cause
    )
    return f"{error} ({text})" if is_explained else text


def _first_line(error: BaseException | None) -> str:
    return str(error).partition("\n")[0]
