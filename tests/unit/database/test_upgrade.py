"""A database of version 2 is upgraded without a loss of data."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import create_engine, inspect

from spanwise.database import ComponentSession, Database, SessionKey
from spanwise.database.postgresql import PostgresqlDatabase
from spanwise.database.sqlite import SqliteDatabase
from support.in_process.database_2 import EXAMPLE, write_version_2
from support.in_process.databases import runs_of

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

    from support.servers.postgresql import PostgresqlServer


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Database, Engine]:
    """A closed database of version 2, and an engine that connects to it."""
    if request.param == "sqlite":
        path = tmp_path / "runs.db"
        engine = create_engine(f"sqlite:///{path}")
        with engine.begin() as connection:
            write_version_2(connection, EXAMPLE)
        return SqliteDatabase(path), engine
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    url = server.create_database()

    def connect() -> psycopg.Connection:
        return psycopg.connect(url, options="-c search_path=spanwise")

    engine = create_engine("postgresql+psycopg://", creator=connect)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA spanwise")
        write_version_2(connection, EXAMPLE)
    engine.dispose()
    return PostgresqlDatabase(url), engine


def shape(engine: Engine) -> set[tuple[str, str]]:
    """Returns the names of all tables, columns and indexes."""
    found = inspect(engine)
    names = set()
    for table in found.get_table_names():
        names |= {(table, column["name"]) for column in found.get_columns(table)}
        names |= {(table, str(index["name"])) for index in found.get_indexes(table)}
        names.add((table, ",".join(found.get_pk_constraint(table)["constrained_columns"])))
    engine.dispose()
    return names


def test_it_keeps_everything_and_gives_runs_the_owner_of_their_session(place: tuple[Database, Engine]) -> None:
    database, _ = place
    for _opened in range(2):
        assert database.open() == []
        ann = database.session(SessionKey("ann", "of ann"))
        assert ann is not None
        assert (ann.user_id, ann.is_first, ann.name, ann.state) == ("ann", True, "Größe", {"a": [1, "\u2028"]})
        assert (ann.metadata, ann.created_at, ann.updated_at) == ({"b": 1}, 2**40, 7)
        nobodys = database.session(SessionKey("", "of nobody"))
        assert nobodys is not None
        assert nobodys.user_id is None
        assert database.session(SessionKey("eve", "é"))
        assert [run.run_id for run in runs_of(database, ann.key)] == ["r3", "r2"]
        (run,) = runs_of(database, nobodys.key)
        assert (run.run_id, run.owner, run.user_id, run.keeps_session) == ("r1", "", "bob", None)
        assert (run.message, run.result, run.paused) == ("nul \0", {"content": "r1"}, {"state": None})
        assert database.events("r1", -1, 9) == [(0, "RunStarted", b"{}")]
        kept = [ComponentSession("agent", "echo", user, None) for user in ("ann", None)]
        assert sorted(database.component_sessions(ann.key), key=str) == sorted(kept, key=str)
        database.close()


def test_it_has_the_tables_of_a_new_one(place: tuple[Database, Engine], tmp_path: Path) -> None:
    database, engine = place
    database.open()
    database.close()
    new = SqliteDatabase(tmp_path / "new.db")
    new.open()
    new.close()
    expected = shape(create_engine(f"sqlite:///{tmp_path / 'new.db'}"))
    if engine.dialect.name == "postgresql":
        expected |= {("format", "version"), ("format", "")}
        expected -= {("commits", "number"), ("commits", "")}
    found = shape(engine) - {("runs", "runs_run_id_key")}  # SQLite does not list the index of a unique column
    assert found == expected


@pytest.mark.parametrize("missing", ["runs", "sessions", "events"])
def test_tables_that_a_kill_left_out_are_created(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "runs.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        write_version_2(connection, {})
    engine.dispose()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"DROP TABLE {missing}")
    database = SqliteDatabase(path)
    assert database.open() == []
    assert database.sessions_with_id("s", 1) == []
    database.close()
