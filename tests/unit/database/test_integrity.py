"""Damage in the file of sessions and runs is always reported, and all other data is read as it was stored."""

from __future__ import annotations

import logging
import os
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from spanwise.database import RunRecord, SessionKey, SessionPageQuery, SessionRecord
from spanwise.database.integrity import check_file
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import ConfigurationError, RecordDamagedError
from support.in_process.databases import runs_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = 7
SESSIONS = 24
RUNS = 3
EVENTS = 5
BODY = b'{"content":"abc"}'
OWNERS = ("ann", "bob", None)


def session(number: int) -> SessionRecord:
    return SessionRecord(
        session_id=f"s{number}",
        user_id=OWNERS[number % len(OWNERS)],
        kind="agent",
        component_id="echo",
        name=f"session {number}",
        state={"number": number},
        metadata={},
        created_at=1,
        updated_at=1,
    )


def run(inside: SessionRecord, number: int, status: str) -> RunRecord:
    return RunRecord(
        run_id=f"{inside.session_id}-{number}",
        owner=inside.key.owner,
        session_id=inside.session_id,
        user_id=inside.user_id,
        kind="agent",
        component_id="echo",
        status=status,
        message="hello " * 20,
        result={"content": "x" * 300},
        paused=None,
        trace={},
        created_at=1,
        updated_at=2,
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Returns the bytes of a file with rows in every table."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    database = SqliteDatabase(path)
    database.open()
    with database.together():
        for inside in map(session, range(SESSIONS)):
            for number in range(RUNS):
                begun = run(inside, number, "RUNNING")
                database.begin(inside, begun)
                database.add_events([(begun.run_id, each, "RunContent", BODY) for each in range(EVENTS)])
                database.end(run(inside, number, "COMPLETED"), {"number": number})
    database.close()
    assert check_file(path) == {"sessions": SESSIONS, "runs": SESSIONS * RUNS, "events": SESSIONS * RUNS * EVENTS}
    return path.read_bytes()


def execute(path: Path, statement: str, *values: object) -> list[Any]:
    """Executes a statement in a closed file, and returns its rows."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def outcome_of(read: Callable[[], object], named: list[str]) -> object:
    """Returns the result of a read; None if it reports damage, which is added to `named`."""
    try:
        return read()
    except RecordDamagedError as error:
        named.append(str(error))
        return None


def all_reads(database: SqliteDatabase, named: list[str]) -> list[object]:
    """Returns the result of every kind of read for every row."""
    reads: list[Callable[[], object]] = [
        lambda query=query: database.sessions(query)  # type: ignore[misc]
        for query in (
            SessionPageQuery(limit=100),
            SessionPageQuery(limit=100, user_id="ann", sort_by="updated_at"),
            SessionPageQuery(limit=100, name="SESSION 1"),
        )
    ]
    for each in map(session, range(SESSIONS)):
        key = SessionKey(each.key.owner, each.session_id)
        reads += [lambda key=key: database.session(key), lambda key=key: runs_of(database, key)]  # type: ignore[misc]
        for number in range(RUNS):
            run_id = f"{each.session_id}-{number}"
            reads.append(lambda run_id=run_id: (database.run(run_id), database.events(run_id, -1, 99)))  # type: ignore[misc]
    return [outcome_of(read, named) for read in reads]


def read_all(path: Path, caplog: pytest.LogCaptureFixture) -> tuple[list[object] | None, list[str]]:
    """Returns the results of all reads of a file, or None if it is rejected, and every report of damage."""
    caplog.clear()
    named: list[str] = []
    database = SqliteDatabase(path)
    try:
        database.open()
        outcomes: list[object] | None = all_reads(database, named)
    except ConfigurationError as error:
        outcomes = None
        named.append(str(error))
    finally:
        database.close()
    return outcomes, named + [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("flips", [20, pytest.param(int(os.environ.get("SLOW_FLIPS", "1000")), marks=pytest.mark.slow)])
def test_no_flipped_bit_is_silent(stored: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture, flips: int) -> None:
    whole = tmp_path / "whole.db"
    whole.write_bytes(stored)
    expected, named = read_all(whole, caplog)
    assert (expected is not None, named) == (True, [])
    generator = random.Random(SEED)
    found = 0
    for number in range(flips):
        place, bit = generator.randrange(len(stored)), generator.randrange(8)
        damaged = bytearray(stored)
        damaged[place] ^= 1 << bit
        path = tmp_path / f"{number}.db"
        path.write_bytes(damaged)
        outcomes, named = read_all(path, caplog)
        assert outcomes == expected or named, f"bit {bit} of byte {place} changed what was read, and nothing says so"
        found += bool(named)
        path.unlink()
    assert found > flips / 4, "most of the file is in use"


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("sessions", "SET state = x'7b7d' WHERE session_id = 's0'"),
        ("sessions", "SET owner = 'eve' WHERE session_id = 's0'"),
        ("sessions", "SET is_first = 0 WHERE session_id = 's0'"),
        ("runs", "SET result = x'7b7d' WHERE run_id = 's0-1'"),
        ("runs", "SET status = 'PAUSED' WHERE run_id = 's0-1'"),
        ("runs", "SET created_at = 2 WHERE run_id = 's0-1'"),
        ("events", "SET body = x'7b7d' WHERE run_id = 's0-1' AND position = 3"),
        ("events", "SET name = 'RunCompleted' WHERE run_id = 's0-1' AND position = 0"),
    ],
)
def test_a_changed_row_is_named_and_the_rest_is_served(
    stored: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture, table: str, change: str
) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(stored)
    expected, _ = read_all(path, caplog)
    execute(path, f"UPDATE {table} {change}")
    outcomes, named = read_all(path, caplog)
    assert outcomes is not None
    assert expected is not None
    assert {message.partition(" in the")[0] for message in named} == {f"a row of {table}"}
    same = sum(before == after for before, after in zip(expected, outcomes, strict=True))
    assert len(expected) - 6 <= same < len(expected), "only what contains the row differs"
    with pytest.raises(RecordDamagedError, match=f"a row of {table} in the database of runs is damaged"):
        check_file(path)


def test_damaged_indexes_are_rebuilt(stored: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(stored)
    expected, _ = read_all(path, caplog)
    rootpage = execute(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'runs_by_status'")[0][0]
    size = execute(path, "PRAGMA page_size")[0][0]
    damaged = bytearray(path.read_bytes())
    place = damaged.index(b"COMPLETED", (rootpage - 1) * size)
    damaged[place] ^= 1
    path.write_bytes(damaged)
    outcomes, named = read_all(path, caplog)
    assert (outcomes, len(named), "runs_by_status" in named[0]) == (expected, 1, True)
    assert read_all(path, caplog) == (expected, [])


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0" + bytes(100), b""])
def test_a_file_that_is_no_database_does_not_pass_a_check(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(content)
    with pytest.raises(RecordDamagedError, match=r"runs\.db"):
        check_file(path)


def test_a_shortened_file_does_not_pass_a_check(stored: bytes, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    for length in (len(stored) - 1, len(stored) - 4096, len(stored) // 2):
        path.write_bytes(stored[:length])
        with pytest.raises(RecordDamagedError, match="database of runs"):
            check_file(path)


def test_a_run_ends_in_a_damaged_session(stored: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(stored)
    database = SqliteDatabase(path)
    database.open()
    inside = session(0)
    begun = msgspec.structs.replace(run(inside, 0, "RUNNING"), run_id="another")
    database.begin(inside, begun)
    database.close()
    execute(path, "UPDATE sessions SET name = 'other' WHERE session_id = 's0'")
    assert database.open() == [begun]
    ended = msgspec.structs.replace(begun, status="COMPLETED")
    database.end(ended, {"number": 5})
    assert database.run(begun.run_id) == ended
    database.close()
    assert "a run in it ended" in caplog.text
