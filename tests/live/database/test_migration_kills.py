"""Kills during the opening of an older store or database lose no data."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine

from spanwise import Filter, TraceStore
from spanwise.database.records import SessionRecord
from spanwise.database.sqlite import SqliteDatabase
from spanwise.demo import CONTENT_TYPE, export_requests
from spanwise.traces.search import queries
from support.in_process.database_2 import EXAMPLE, write_version_2
from support.in_process.databases import runs_of as stored_runs_of
from support.programs import start

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.database import RunRecord

SEED = 20261121
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = 500
SESSION = partial(
    SessionRecord,
    user_id="alice",
    kind="agent",
    component_id="echo",
    name="hi",
    state={"a": 1},
    metadata={},
    created_at=1,
    updated_at=2,
)
EVERYTHING = Filter.compile(b"null")


def migrate(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a process to its end and returns the result."""
    with start("migration", *arguments, stderr=subprocess.PIPE) as process:
        output, failed = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, failed)


def killed_migration(folder: Path, seconds: float) -> bool:
    """Kills a process after a delay. Returns True if it was still working."""
    with start("migration", "store", folder) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        return "done" not in process.stdout.read()


def content(folder: Path) -> dict[str, str]:
    """Returns the hash of every trace by id."""
    store = TraceStore.open(str(folder))
    try:
        total = store.query(queries.ids(EVERYTHING, 1, 1)).total
        pages = (store.query(queries.ids(EVERYTHING, page, 100)).data for page in range(1, total // 100 + 2))
        ids = [trace_id for page in pages for trace_id in json.loads(page)]
        assert len(ids) == len(set(ids)) == total
        return {trace_id: sha256(store.query(queries.trace(EVERYTHING, trace_id)).data).hexdigest() for trace_id in ids}
    finally:
        store.close()


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with several segments, deleted rows, unsealed spans, and indexes of another format."""
    folder = tmp_path_factory.mktemp("left") / "store"
    store = TraceStore.open(str(folder), b'{"seal_objects":12}')
    for number, export in enumerate(export_requests(TRACES, SEED, NOW)):
        store.ingest(export.body, CONTENT_TYPE)
        if number % 10 == 5:
            store.delete(Filter.compile(b'{"op":"EQ","key":"status","value":"ERROR"}'))
    store.close()
    indexes = [path for path in (folder / "cache").rglob("*") if path.is_file()]
    assert indexes
    for path in indexes:
        path.write_bytes(path.read_bytes()[:-64] + bytes(64))
    return folder


@pytest.mark.parametrize("kills", [3, pytest.param(int(os.environ.get("SLOW_KILLS", "100")), marks=pytest.mark.slow)])
def test_a_killed_rewrite_of_a_store_loses_nothing(left: Path, tmp_path: Path, kills: int) -> None:
    whole = shutil.copytree(left, tmp_path / "whole")
    seconds = float(migrate("store", whole).stdout.removeprefix("begun\ndone "))
    expected = content(whole)
    assert len(expected) > TRACES / 2
    rng = random.Random(f"{SEED}/{kills}")
    at_work = 0
    for kill in range(kills):
        folder = shutil.copytree(left, tmp_path / f"killed {kill}")
        # The first kill comes before any work, so not every kill can be too late.
        at_work += killed_migration(folder, rng.uniform(0, seconds) if kill else 0)
        assert migrate("store", folder).stdout.startswith("begun\ndone "), f"kill {kill}"
        assert content(folder) == expected, f"kill {kill}"
        shutil.rmtree(folder)
    assert at_work, "every kill came too late"


def shape(path: Path) -> set[str]:
    """Returns the names of all tables and indexes."""
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def opened(path: Path) -> SqliteDatabase:
    """Opens a database."""
    database = SqliteDatabase(path)
    database.open()
    return database


def test_an_upgrade_loses_nothing_whichever_statement_the_kill_came_after(tmp_path: Path) -> None:
    old = create_engine(f"sqlite:///{tmp_path / 'old.db'}")
    with old.begin() as connection:
        write_version_2(connection, EXAMPLE)
    old.dispose()
    opened(tmp_path / "whole.db").close()
    expected = shape(tmp_path / "whole.db")
    died = int(migrate("databases", tmp_path).stdout)
    assert died > len(expected)
    versions = set()
    for statements in range(died):
        with closing(sqlite3.connect(tmp_path / f"{statements}.db")) as raw:
            versions.add(raw.execute("PRAGMA user_version").fetchone()[0])
        database = opened(tmp_path / f"{statements}.db")
        found = [(run.run_id, run.owner) for name in ("of ann", "of nobody") for run in runs_of(database, name)]
        assert found == [("r3", "ann"), ("r2", "ann"), ("r1", "")], f"killed before statement {statements}"
        assert [each.user_id for each in database.sessions_with_id("é", 9)] == ["eve"]
        database.close()
        assert shape(tmp_path / f"{statements}.db") == expected, f"killed before statement {statements}"
    assert versions == {2, 3}


def runs_of(database: SqliteDatabase, session_id: str) -> list[RunRecord]:
    (session,) = database.sessions_with_id(session_id, 9)
    return stored_runs_of(database, session.key)


@pytest.mark.parametrize("held", [0, 3], ids=["new", "old"])
def test_a_database_is_complete_whichever_statement_the_kill_came_after(tmp_path: Path, held: int) -> None:
    """An existing database lacks an index, like after an earlier kill."""
    sessions = [SESSION(session_id=f"s{number}") for number in range(held)]
    database = opened(tmp_path / "whole.db")
    assert all(map(database.add_session, sessions))
    database.close()
    expected = shape(tmp_path / "whole.db")
    if held:
        shutil.copy(tmp_path / "whole.db", tmp_path / "old.db")
        with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
            connection.execute("DROP INDEX sessions_by_owner")
    died = int(migrate("databases", tmp_path).stdout)
    assert died > len(expected)
    for statements in range(died):
        database = opened(tmp_path / f"{statements}.db")
        assert [database.session(session.key) for session in sessions] == sessions
        database.close()
        assert shape(tmp_path / f"{statements}.db") == expected, f"killed before statement {statements}"
