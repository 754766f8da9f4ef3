"""A damaged row is marked in single reads and in lists, and every other row is served."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from spanwise.database import RunRecord, SessionKey, SessionPageQuery, SessionRecord
from spanwise.database.checksums import with_checksum
from spanwise.database.damaged import EVENT
from spanwise.database.sqlite import SqliteDatabase
from spanwise.database.tables import events, runs, sessions
from spanwise.errors import RecordDamagedError
from spanwise.runs.subscription import next_index
from support.in_process.databases import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES = {"sessions": sessions, "runs": runs, "events": events}
KEY = SessionKey("ann", "s1")


def session(session_id: str) -> SessionRecord:
    members: dict[str, Any] = {"user_id": "ann", "kind": "agent", "component_id": "echo", "name": session_id}
    return SessionRecord(
        session_id=session_id, state={"a": 1}, metadata={"b": 1}, created_at=1, updated_at=1, **members
    )


def run(run_id: str, session_id: str, status: str = "COMPLETED") -> RunRecord:
    members: dict[str, Any] = {"owner": "ann", "user_id": "ann", "kind": "agent", "component_id": "echo"}
    content: dict[str, Any] = {"message": "hi", "result": {"content": "x"}, "paused": None, "trace": {}}
    return RunRecord(
        run_id=run_id, session_id=session_id, status=status, created_at=1, updated_at=1, **members, **content
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two sessions. The first session has two runs with three events each."""
    path = tmp_path / "runs.db"
    database = SqliteDatabase(path)
    database.open()
    for number in ("s1", "s2"):
        database.add_session(session(number))
    for number in ("r1", "r2"):
        database.begin(session("s1"), run(number, "s1"))
        database.add_events([(number, index, "RunContent", b"{}") for index in range(3)])
    database.close()
    return path


@pytest.fixture
def opened(path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(path)
    yield database
    database.close()


def damage(path: Path, place: tuple[str, str], column: str, value: object, *, is_sealed: bool) -> None:
    """Changes one column of a row, given by its table and condition. `is_sealed` adds a matching checksum."""
    table, where = place
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.row_factory = sqlite3.Row
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", [value])  # noqa: S608  # the test builds it
        if is_sealed:
            row = dict(connection.execute(f"SELECT * FROM {table} WHERE {where}").fetchone())  # noqa: S608
            del row["checksum"]
            checksum = with_checksum(TABLES[table], row)["checksum"]
            connection.execute(f"UPDATE {table} SET checksum = ? WHERE {where}", [checksum])  # noqa: S608


DAMAGE = [b"{", b"", b"\xff\xfe", b"[1", "text", 7, 1.5, b"null", b"[]", b'"text"']
FITTING: dict[str, tuple[object, ...]] = {
    "message": (b'"text"',),
    "created_at": (7,),
    "paused": (b"[]", b'"text"'),
    "state": (b"null",),
}
"""Values that a program could have stored, so that only the checksum can detect the change."""


def cases(*columns: str) -> list[tuple[str, object, bool]]:
    """Returns columns with damaged values, with a wrong and with a matching checksum."""
    pairs = [(column, value) for column in columns for value in DAMAGE if (column, value) != ("paused", b"null")]
    unsealed = [(column, value, False) for column, value in pairs]
    return unsealed + [(column, value, True) for column, value in pairs if value not in FITTING.get(column, ())]


@pytest.mark.parametrize(
    ("column", "value", "is_sealed"),
    cases("result", "message", "paused", "trace", "status", "kind", "created_at"),
)
def test_a_damaged_run_is_marked(
    path: Path, opened: SqliteDatabase, column: str, value: object, *, is_sealed: bool
) -> None:
    damage(path, ("runs", "run_id = 'r1'"), column, value, is_sealed=is_sealed)
    opened.open()
    first, second = runs_of(opened, KEY)
    assert (first.run_id, first.is_damaged, first.status, first.result) == ("r1", True, "ERROR", {})
    assert second == run("r2", "s1")
    assert opened.run("r1") == first
    with pytest.raises(RecordDamagedError):
        opened.end(first, None)
    opened.delete_session(KEY)
    assert opened.run("r1") is None


@pytest.mark.parametrize(("column", "value", "is_sealed"), cases("state", "metadata", "kind", "created_at"))
def test_a_damaged_session_is_marked(
    path: Path, opened: SqliteDatabase, column: str, value: object, *, is_sealed: bool
) -> None:
    damage(path, ("sessions", "session_id = 's1'"), column, value, is_sealed=is_sealed)
    opened.open()
    found, count = opened.sessions(SessionPageQuery(sort_by="session_name", descending=False))
    assert count == 2
    first, second = found
    assert (first.key, first.is_damaged, first.name, first.metadata) == (KEY, True, "", {})
    assert second == msgspec.structs.replace(session("s2"), state=None), "a list has no states"
    assert opened.session(KEY) == first
    assert opened.sessions_with_id("s1", 2) == [first]
    for change in (
        lambda: opened.change_session(first),
        lambda: opened.begin(session("s1"), run("r3", "s1")),
    ):
        with pytest.raises(RecordDamagedError):
            change()
    opened.delete_session(KEY)
    assert opened.session(KEY) is None


@pytest.mark.parametrize(("column", "value"), [("body", b"{"), ("body", 7), ("name", b"\xff"), ("checksum", 0)])
def test_a_damaged_event_is_marked(path: Path, opened: SqliteDatabase, column: str, value: object) -> None:
    damage(path, ("events", "run_id = 'r1' AND position = 1"), column, value, is_sealed=False)
    opened.open()
    found = opened.events("r1", -1, 10)
    assert [(index, name) for index, name, _ in found] == [(0, "RunContent"), (1, EVENT), (2, "RunContent")]
    assert next_index(opened, "r1") == 3


def test_an_event_without_an_index_ends_no_search(path: Path, opened: SqliteDatabase) -> None:
    damage(path, ("events", "run_id = 'r1' AND position = 2"), "position", "text", is_sealed=False)
    opened.open()
    assert [index for index, _, _ in opened.events("r1", -1, 10)] == [0, 1]
    assert next_index(opened, "r1") == 2


def test_a_damaged_unfinished_run_is_over_after_the_start(path: Path, opened: SqliteDatabase) -> None:
    damage(path, ("runs", "run_id = 'r1'"), "status", "RUNNING", is_sealed=False)
    assert opened.open() == []
    assert not opened.has_unfinished_run(KEY)
    found = opened.run("r1")
    assert found is not None
    assert found.is_damaged
