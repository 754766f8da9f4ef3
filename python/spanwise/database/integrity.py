"""Finds damage in a SQLite file. SQLite checks the structure, checksums check the rows.

Source: https://www.sqlite.org/pragma.html#pragma_integrity_check and docs/store.md.
"""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, select
from sqlalchemy.exc import SQLAlchemyError

from spanwise.database.checksums import verified
from spanwise.database.commit_count import lost_text, lost_transactions, noted_beside
from spanwise.database.tables import FORMAT, tables
from spanwise.errors import RecordDamagedError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Table

MAX_PROBLEMS = 20
"""The limit of reported problems, because a damaged file often has thousands."""
_INDEX_PROBLEMS = ("missing from index", "wrong # of entries in index", "non-unique entry in index")

_log = logging.getLogger(__name__)


def keep_undecodable_text(connection: Any) -> None:  # noqa: ANN401  # the driver's connection
    """Makes a driver's connection return invalid UTF-8, so that the row's checksum can detect it."""
    connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")


def rebuild_damaged_indexes(connection: Connection, path: Path) -> None:
    """Checks the structure of an open file. Rebuilds damaged indexes from the rows and logs other problems.

    Args:
        connection: the only connection that uses the file.
        path: the file, for messages.
    """
    problems = _structural_problems(connection)
    if problems and any(name in problem for problem in problems for name in _INDEX_PROBLEMS):
        _log.error("indexes of the database of runs `%s` were damaged and are rebuilt: %s", path, "; ".join(problems))
        connection.exec_driver_sql("REINDEX")
        problems = _structural_problems(connection)
    if problems:
        _log.error("the database of runs `%s` is damaged: %s", path, "; ".join(problems))


def check_file(path: Path) -> dict[str, int]:
    """Verifies a whole file and returns the number of rows of each table. The file may be in use.

    Raises:
        RecordDamagedError: the file is damaged, or is not a database of runs; the message names the first problem.
    """
    noted = noted_beside(path)  # before the file is read, because the file may grow
    engine = create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", connect_args={"check_same_thread": False})
    event.listen(engine, "connect", lambda connection, _record: keep_undecodable_text(connection))
    try:
        with engine.connect() as connection:
            found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if found != FORMAT:
                raise RecordDamagedError(f"the database of runs `{path}` has version {found}, expected {FORMAT}")
            if lost := lost_transactions(connection, noted):
                raise RecordDamagedError(lost_text(path, lost))
            if problems := _structural_problems(connection):
                raise RecordDamagedError(f"the database of runs `{path}` is damaged: {'; '.join(problems)}")
            return {table.name: _verified_rows(connection, table) for table in tables.sorted_tables}
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        raise RecordDamagedError(f"the database of runs `{path}` cannot be read: {error.__cause__ or error}") from error
    finally:
        engine.dispose()


def _verified_rows(connection: Connection, table: Table) -> int:
    count = 0
    with closing(connection.execution_options(yield_per=1000).execute(select(table))) as rows:
        for row in rows:
            verified(table, row)
            count += 1
    return count


def _structural_problems(connection: Connection) -> list[str]:
    found = connection.exec_driver_sql(f"PRAGMA integrity_check({MAX_PROBLEMS})").scalars().all()
    return [] if found == ["ok"] else [" ".join(str(problem).split()) for problem in found]
