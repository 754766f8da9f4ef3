"""Database errors: each kind is a 503 with advice, or names the damage. The database is usable again afterwards."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import msgspec
import psycopg
import pytest

from spanwise.database import SessionKey, SessionRecord, faults
from spanwise.database.postgresql import PostgresqlDatabase
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import ConfigurationError, DatabaseAwayError, RecordDamagedError, UnavailableError
from support.servers import postgresql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPENS = "import sys; from spanwise.database.sqlite import SqliteDatabase; SqliteDatabase(sys.argv[1]).open()"
KEY = SessionKey("", "s")
SESSION = SessionRecord(
    session_id="s",
    user_id=None,
    kind="agent",
    component_id=None,
    name="",
    state=None,
    metadata={},
    created_at=1,
    updated_at=1,
)


@contextmanager
def opened(database: SqliteDatabase | PostgresqlDatabase) -> Iterator[SqliteDatabase | PostgresqlDatabase]:
    database.open()
    try:
        yield database
    finally:
        database.close()


def execute(database: SqliteDatabase | PostgresqlDatabase, statement: str) -> None:
    """Executes a statement on the database's own connection."""
    with database._begun() as connection:  # noqa: SLF001  # the connection injects faults
        connection.exec_driver_sql(statement)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_a_file_that_another_program_writes_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with opened(SqliteDatabase(path)) as database:
        execute(database, "PRAGMA busy_timeout = 0")
        with locked(path), pytest.raises(UnavailableError) as raised:
            database.add_session(SESSION)
        assert str(raised.value) == faults.LOCKED
        assert database.add_session(SESSION)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", faults.READ_ONLY_FILE),
        ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 100000", faults.FULL),
    ],
)
def test_a_file_that_takes_no_writes_is_503_until_it_does(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    with opened(SqliteDatabase(tmp_path / "runs.db")) as database:
        large = msgspec.structs.replace(SESSION, metadata={"text": "x" * 100_000})
        execute(database, before)
        with pytest.raises(UnavailableError) as raised:
            database.add_session(large)
        assert str(raised.value) == message
        assert database.session(KEY) is None
        execute(database, after)
        assert database.add_session(large)


@pytest.fixture(scope="module")
def own_server() -> Iterator[postgresql.PostgresqlServer]:
    """A server whose configuration tests change."""
    with postgresql.running() as server:
        yield server


@pytest.fixture
def kept(own_server: postgresql.PostgresqlServer) -> Iterator[tuple[PostgresqlDatabase, str]]:
    """An open database on a server, and its address."""
    url = own_server.create_database()
    with opened(PostgresqlDatabase(url)) as database:
        yield database, url  # type: ignore[misc]


@pytest.mark.parametrize(
    ("state", "kind", "message"),
    [
        ("57P01", DatabaseAwayError, faults.AWAY),
        ("57P03", DatabaseAwayError, faults.AWAY),
        ("08006", DatabaseAwayError, faults.AWAY),
        ("57014", UnavailableError, faults.SLOW),
        ("55P03", UnavailableError, faults.SLOW),
        ("40P01", UnavailableError, faults.SLOW),
        ("25006", UnavailableError, faults.READ_ONLY_SERVER),
        ("53100", UnavailableError, faults.FULL),
        ("53200", UnavailableError, faults.EXHAUSTED),
        ("53300", UnavailableError, faults.EXHAUSTED),
        ("58030", UnavailableError, faults.DISK_FAILED),
        ("28P01", UnavailableError, faults.DENIED),
        ("42501", UnavailableError, faults.DENIED),
        ("42P01", UnavailableError, faults.MISSING),
        ("XX001", RecordDamagedError, "the database of runs is damaged: of the server"),
        ("XX002", RecordDamagedError, "the database of runs is damaged: of the server"),
    ],
)
def test_an_error_of_the_server_says_what_to_do(
    kept: tuple[PostgresqlDatabase, str], state: str, kind: type[Exception], message: str
) -> None:
    database, url = kept
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION spanwise.fails() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$BEGIN RAISE EXCEPTION 'of the server' USING ERRCODE = '{state}'; END$$".encode()
        )
        admin.execute("CREATE TRIGGER fails BEFORE INSERT ON spanwise.sessions EXECUTE FUNCTION spanwise.fails()")
        with pytest.raises(kind) as raised:
            database.add_session(SESSION)
        assert (type(raised.value), str(raised.value)) == (kind, message)
        admin.execute("DROP TRIGGER fails ON spanwise.sessions")
    assert database.add_session(SESSION)


def test_a_programming_error_is_not_taken_for_a_fault(kept: tuple[PostgresqlDatabase, str]) -> None:
    database, _ = kept
    with pytest.raises(Exception, match="division by zero"):
        execute(database, "SELECT 1 / 0")


def test_dropped_tables_are_named(kept: tuple[PostgresqlDatabase, str]) -> None:
    database, url = kept
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("DROP TABLE spanwise.sessions")
    with pytest.raises(UnavailableError) as raised:
        database.session(KEY)
    assert str(raised.value) == faults.MISSING


def test_a_read_only_server_is_read_and_takes_writes_again(
    own_server: postgresql.PostgresqlServer, kept: tuple[PostgresqlDatabase, str], caplog: pytest.LogCaptureFixture
) -> None:
    database, _ = kept
    assert database.add_session(SESSION)
    with own_server.read_only():
        for _ in range(2):
            with pytest.raises(UnavailableError) as raised:
                database.delete_session(KEY)
            assert str(raised.value) == faults.READ_ONLY_SERVER
        assert database.session(KEY) == SESSION
        logged = [each.getMessage() for each in caplog.records if faults.READ_ONLY_SERVER in each.getMessage()]
        assert len(logged) == 1
        assert "read-only transaction" in logged[0]
    database.delete_session(KEY)


def test_a_standby_is_read_only(own_server: postgresql.PostgresqlServer) -> None:
    url = own_server.create_database()
    with opened(PostgresqlDatabase(url)) as database:
        assert database.add_session(SESSION)
        own_server.stop()
        with own_server.standby():
            assert database.session(KEY) == SESSION
            with pytest.raises(UnavailableError) as raised:
                database.delete_session(KEY)
            assert str(raised.value) == faults.READ_ONLY_SERVER


def test_a_server_that_takes_no_tables_says_what_to_do_at_the_start(own_server: postgresql.PostgresqlServer) -> None:
    url = own_server.create_database()
    with own_server.read_only(), pytest.raises(ConfigurationError) as raised:
        PostgresqlDatabase(url).open()
    assert faults.READ_ONLY_SERVER in str(raised.value)
    assert "read-only transaction" in str(raised.value)


@pytest.mark.parametrize("is_file", [True, False])
def test_a_file_without_write_permission_says_what_to_do_at_the_start(tmp_path: Path, *, is_file: bool) -> None:
    path = tmp_path / "kept" / "runs.db"
    with opened(SqliteDatabase(path)):
        pass
    (path if is_file else path.parent).chmod(0o555)
    (path.parent / "runs.db.lock").unlink()
    command = [sys.executable, "-c", OPENS, str(path)]
    # root can write regardless of the mode unless it drops this capability
    unprivileged = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    done = subprocess.run([*unprivileged, *command], capture_output=True, text=True, check=False)
    path.parent.chmod(0o755)
    assert done.returncode == 1
    assert "let the user of the service write to the file and its folder" in done.stderr, done.stderr
