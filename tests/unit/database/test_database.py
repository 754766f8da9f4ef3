"""One suite for both databases: records, order, transactions, locks and versions."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.database import (
    ComponentSession,
    Database,
    RunRecord,
    SessionKey,
    SessionPageQuery,
    SessionRecord,
    SessionRunQuery,
    StoredBytes,
    unique_session_id,
)
from spanwise.database.postgresql import PostgresqlDatabase
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import BadRequestError, ConfigurationError, StoreLockedError, UnavailableError
from support.in_process.databases import runs_of
from support.servers import postgresql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    New: TypeAlias = Callable[[], Callable[[], Database]]
    """Creates an empty database and returns a function that opens it."""


@pytest.fixture(params=["sqlite", "postgresql"], scope="session")
def opener(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> New:
    if request.param == "sqlite":

        def new() -> Callable[[], Database]:
            path = tmp_path_factory.mktemp("database") / "runs.db"
            return lambda: SqliteDatabase(path)

        return new
    server: postgresql.PostgresqlServer = request.getfixturevalue("postgresql_server")

    def new_on_server() -> Callable[[], Database]:
        url = server.create_database()
        return lambda: PostgresqlDatabase(url)

    return new_on_server


@pytest.fixture(scope="session")
def shared(opener: New) -> Iterator[Database]:
    """A database that tests share. Each test reads only its own records."""
    database = opener()()
    database.open()
    yield database
    database.close()


def session(session_id: str, **members: Any) -> SessionRecord:
    given = {"user_id": "ann", "kind": "agent", "component_id": "echo", "name": session_id, "state": {}} | members
    return SessionRecord(session_id=session_id, **{"metadata": {}, "created_at": 1, "updated_at": 1, **given})


def stateless(found: SessionRecord) -> SessionRecord:
    """Returns a session as a page has it."""
    return msgspec.structs.replace(found, state=None)


def key(session_id: str, owner: str = "ann") -> SessionKey:
    return SessionKey(owner, session_id)


def run(run_id: str, session_id: str, **members: Any) -> RunRecord:
    given = {
        "owner": "ann",
        "user_id": "ann",
        "kind": "agent",
        "component_id": "echo",
        "status": "RUNNING",
        "message": "hi",
    } | members
    kept: dict[str, Any] = {"result": {}, "paused": None, "trace": {}, "created_at": 1, "updated_at": 1}
    return RunRecord(run_id=run_id, session_id=session_id, **{**kept, **given})


def test_both_satisfy_the_protocol(shared: Database) -> None:
    assert isinstance(shared, Database)


def test_records_survive_a_reopen(opener: New) -> None:
    opened = opener()
    database = opened()
    assert database.open() == []
    begun = session("s", name="Größe", state={"a": [1, None, "ü\u2028"]}, metadata={"b": {}}, created_at=2**40)
    first, second = run("r2", "s", message="nul \0 and \U0001f600"), run("r1", "s", created_at=0)
    assert database.begin(begun, first) == begun
    assert database.begin(session("s", name="other"), second) == begun
    database.add_events([("r2", 0, "RunStarted", b"{}"), ("r2", 1, "RunContent", bytes(range(256)))])
    database.close()

    again = opened()
    assert again.open() == [first, second]
    assert again.session(key("s")) == begun
    assert runs_of(again, key("s")) == [first, second]
    assert again.run("r1") == second
    assert again.events("r2", -1, 10) == [(0, "RunStarted", b"{}"), (1, "RunContent", bytes(range(256)))]
    assert again.events("r2", 0, 10) == [(1, "RunContent", bytes(range(256)))]
    assert again.events("r2", -1, 1) == [(0, "RunStarted", b"{}")]
    again.close()


def test_a_run_moves_ends_and_goes_with_its_session(shared: Database) -> None:
    shared.begin(session("moving"), run("m", "moving"))
    assert not shared.move("m", ["PAUSED"], "RUNNING")
    assert shared.move("m", ["PENDING", "RUNNING"], "CANCELLED")
    ended = run("m", "moving", status="PAUSED", result={"content": 1}, paused={"state": None}, updated_at=7)
    shared.end(ended, {"asked": 1})
    assert shared.run("m") == ended
    assert shared.session(key("moving")) == session("moving", state={"asked": 1}, updated_at=7)
    shared.end(msgspec.structs.replace(ended, updated_at=8), None)
    assert shared.session(key("moving")) == session("moving", state={"asked": 1}, updated_at=8)
    shared.add_events([("m", 0, "RunStarted", b"{}")])
    shared.delete_session(key("moving"))
    assert (shared.session(key("moving")), shared.run("m"), shared.events("m", -1, 9)) == (None, None, [])


def test_events_may_be_added_again(shared: Database) -> None:
    first, second = ("again", 0, "RunStarted", b"{}"), ("again", 1, "RunCompleted", b"[]")
    shared.add_events([first])
    shared.add_events([("again", 0, "Other", b"1"), second])
    assert shared.events("again", -1, 9) == [first[1:], second[1:]]


def test_a_session_is_added_once_and_changed(shared: Database) -> None:
    assert shared.add_session(session("added", component_id=None))
    assert not shared.add_session(session("added"))
    renamed = session("added", name="Neuer NAME", metadata={"x": 1}, updated_at=9)
    shared.change_session(renamed)
    assert shared.session(key("added")) == renamed
    assert shared.sessions(SessionPageQuery(name="neuer n")) == ([stateless(renamed)], 1)
    shared.delete_session(key("added"))


def test_users_have_session_ids_of_their_own(shared: Database) -> None:
    anns, eves, nobodys = (session("same", user_id=user) for user in ("ann", "eve", None))
    assert shared.add_session(anns) == anns
    assert shared.begin(eves, run("eves", "same", owner="eve", user_id="eve")).is_first is False
    assert shared.add_session(nobodys) is not None
    assert {each.user_id for each in shared.sessions_with_id("same", 9)} == {"ann", "eve", None}
    assert len(shared.sessions_with_id("same", 2)) == 2
    shared.change_session(session("same", user_id="eve", name="hers"))
    assert [each.name for each in shared.sessions(SessionPageQuery(user_id="eve"))[0]] == ["hers"]
    assert shared.session(anns.key) == anns
    assert (runs_of(shared, anns.key), [each.run_id for each in runs_of(shared, eves.key)]) == ([], ["eves"])
    assert (shared.has_unfinished_run(anns.key), shared.has_unfinished_run(eves.key)) == (False, True)
    shared.end(run("eves", "same", owner="eve", user_id="eve", status="COMPLETED"), {"a": 1})
    assert shared.session(anns.key) == anns
    shared.delete_session(anns.key)
    assert [each.run_id for each in runs_of(shared, eves.key)] == ["eves"]
    assert shared.add_session(session("same", user_id="bob")) == session("same", user_id="bob")  # the id is free again
    for user in ("eve", "bob", ""):
        shared.delete_session(key("same", user))
    assert shared.run("eves") is None


def test_sizes_are_known_before_rows_are_read(shared: Database) -> None:
    sized = session("sized", state={"a": "x" * 1000}, metadata={"b": "y" * 10})
    shared.add_session(sized)
    assert shared.session_bytes("sized") == shared.session_bytes(SessionPageQuery(name="sized"))
    found = shared.session_bytes("sized")
    assert (found.total, found.largest) == (len('{"b":""}') + 10, len('{"a":""}{"b":""}') + 1010)
    assert shared.session_bytes("sized", sized.key.owner) == found
    assert shared.session_bytes("sized", "another") == StoredBytes(0, 0)
    assert shared.session_bytes("missing") == shared.run_bytes("missing") == StoredBytes(0, 0)
    rest = len('""{}null{}')
    for number in range(3):
        shared.begin(sized, run(f"sized-{number}", "sized", message="ü" * number, created_at=number))
    query = SessionRunQuery(session=sized.key)
    sizes = shared.run_sizes(query, 0, 9)
    assert [size for _, size in sizes] == [rest, rest + 2, rest + 4]
    assert shared.run_bytes(query) == StoredBytes(3 * rest + 6, rest + 4)
    assert shared.run_bytes("sized-2") == StoredBytes(rest + 4, rest + 4)
    assert shared.run_sizes(query, 0, 2) == sizes[:2]
    assert shared.run_sizes(query, sizes[0][0], 9) == sizes[1:]
    assert [each.run_id for each in shared.runs([sizes[2][0], sizes[0][0]])] == ["sized-0", "sized-2"]
    shared.delete_session(sized.key)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [0, 1, 2, 3]),
        ({"user_id": "eve"}, [3]),
        ({"kind": "team"}, [2]),
        ({"component_id": "other"}, [1]),
        ({"statuses": ("PAUSED", "ERROR")}, [1, 2]),
        ({"created_after": 2}, [2, 3]),
        ({"created_before": 1}, [0, 1]),
        ({"created_after": 1, "created_before": 2, "statuses": ("PAUSED",)}, [1]),
    ],
)
def test_runs_are_selected(shared: Database, given: dict[str, Any], expected: list[int]) -> None:
    selected = session("selected")
    members: list[dict[str, Any]] = [
        {},
        {"component_id": "other", "status": "PAUSED"},
        {"kind": "team", "status": "ERROR"},
        {"user_id": "eve"},
    ]
    for number, each in enumerate(members):
        shared.begin(selected, run(f"selected-{number}", "selected", created_at=number, **each))
    sizes = shared.run_sizes(SessionRunQuery(session=selected.key, **given), 0, 9)
    found = shared.runs([number for number, _ in sizes])
    assert [each.run_id for each in found] == [f"selected-{number}" for number in expected]
    shared.delete_session(selected.key)


def test_components_that_ran_in_a_session_are_known(shared: Database) -> None:
    shared.begin(session("kept-by"), run("k1", "kept-by", keeps_session=True))
    shared.begin(session("kept-by"), run("k2", "kept-by", keeps_session=True))
    shared.begin(session("kept-by"), run("k3", "kept-by", user_id=None, kind="team", component_id="t"))
    shared.begin(session("kept-by", user_id="eve"), run("k4", "kept-by", owner="eve", component_id="other"))
    found = shared.component_sessions(key("kept-by"))
    expected = [("agent", "echo", "ann", True), ("team", "t", None, False)]
    assert sorted(found) == [ComponentSession(*each) for each in expected]
    for user in ("ann", "eve"):
        shared.delete_session(key("kept-by", user))


USERS = st.sampled_from(["ann", "eve", "ann\u0001eve", None])


@given(st.lists(st.tuples(USERS, st.sampled_from(["a", "a~b", "~"]), USERS), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_no_two_users_share_the_id_of_a_kept_session(
    shared: Database, calls: list[tuple[str | None, str, str | None]]
) -> None:
    """A session id may equal the derived id of another user, and a user may run in another user's session."""
    rows: list[tuple[SessionRecord, str | None]] = []
    with shared.together():
        for number, (owner, session_id, caller) in enumerate(calls):
            ids = [session_id, *(unique_session_id(each, user) for each, user in rows)]
            added = shared.add_session(session(ids[number % len(ids)], user_id=owner))
            rows += [] if added is None else [(added, owner), (added, caller)]
        expected = {(each.key, user if user is not None else each.user_id) for each, user in rows}
        assert len({unique_session_id(each, user) for each, user in rows}) == len(expected)
        for each, _ in rows:
            shared.delete_session(each.key)


def test_a_transaction_is_atomic(shared: Database) -> None:
    def add_both() -> None:
        with shared.together():
            shared.add_session(session("together-1"))
            shared.begin(session("together-2"), run("together", "together-2"))
            assert shared.session(key("together-2"))
            shared.begin(session("together-2"), run("together", "together-2"))

    with pytest.raises(Exception, match=r"(?i)unique"):
        add_both()
    assert shared.session(key("together-1")) is None
    assert shared.run("together") is None


NAMES = ["", "a", "A", "b", "É", "é", "a_b", "a%b", "a/b", "ß", "SS", "\u017f", "z" * 160]
SESSIONS = st.tuples(
    st.sampled_from(["ann", "Ann", None]),
    st.sampled_from(["agent", "team"]),
    st.sampled_from(["one", None]),
    st.sampled_from(NAMES),
    st.integers(0, 2),
)
QUERIES = st.builds(
    SessionPageQuery,
    user_id=st.sampled_from(["ann", "Ann", "nobody", None]),
    kind=st.sampled_from(["agent", None]),
    component_id=st.sampled_from(["one", None]),
    name=st.none() | st.sampled_from([*NAMES, "%", "_", "/", "\\"]),
    sort_by=st.sampled_from(["created_at", "updated_at", "session_name"]),
    descending=st.booleans(),
    offset=st.integers(0, 4),
    limit=st.integers(1, 4),
)


def page_of(kept: list[SessionRecord], query: SessionPageQuery) -> tuple[list[SessionRecord], int]:
    """A naive implementation that pages are compared with."""
    found = [
        stateless(each)
        for each in kept
        if (query.user_id is None or each.user_id == query.user_id)
        and (query.kind is None or each.kind == query.kind)
        and (query.component_id is None or each.component_id == query.component_id)
        and (query.name is None or query.name.casefold() in each.name.casefold())
    ]
    key = "name" if query.sort_by == "session_name" else query.sort_by
    found.sort(key=lambda each: (getattr(each, key), *reversed(each.key)), reverse=query.descending)
    return found[query.offset : query.offset + query.limit], len(found)


@given(st.lists(SESSIONS, max_size=12), st.lists(QUERIES, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_a_page_is_what_the_naive_implementation_finds(
    shared: Database, rows: list[tuple[Any, ...]], questions: list[SessionPageQuery]
) -> None:
    given = [
        session(f"s{n % 5}", user_id=user, kind=kind, component_id=component, name=name, created_at=at, updated_at=-at)
        for n, (user, kind, component, name, at) in enumerate(rows)
    ]
    with shared.together():
        added = [shared.add_session(each) for each in given]
        kept = [each for each in added if each is not None]  # a user has each id once
        for query in questions:
            assert shared.sessions(query) == page_of(kept, query)
        for each in kept:
            shared.delete_session(each.key)


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "x" * 1025, "ü" * 513], ids=range(4))
def test_an_id_that_one_database_cannot_hold_is_rejected_by_all(shared: Database, value: str) -> None:
    for ask in (
        lambda: shared.session(key(value)),
        lambda: shared.sessions(SessionPageQuery(user_id=value)),
        lambda: shared.add_session(session("refused", user_id=value)),
    ):
        with pytest.raises(BadRequestError, match="an id or name is text of at most 1024 bytes"):
            ask()
    assert shared.session(key("refused")) is None


OPENS = """
import sys
from spanwise.database.postgresql import PostgresqlDatabase
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import StoreLockedError
database = (PostgresqlDatabase if "://" in sys.argv[1] else SqliteDatabase)(sys.argv[1])
try:
    database.open()
except StoreLockedError as error:
    sys.exit(str(error))
print("open", flush=True)
sys.stdin.read()
"""


def place_of(database: Any) -> str:
    parameters = getattr(database, "_parameters", {})
    return postgresql_url(parameters) if parameters else str(database.path)


def postgresql_url(parameters: dict[str, Any]) -> str:
    return f"postgresql://{parameters['user']}:a%20secret%3A%20p%40ss%2Fword%3F@127.0.0.1:{parameters['port']}/" + str(
        parameters["dbname"]
    )


def test_a_database_belongs_to_one_process_until_that_ends(opener: New) -> None:
    opened = opener()
    database = opened()
    database.open()
    with pytest.raises(StoreLockedError, match="another process has the database"):
        opened().open()
    command = [sys.executable, "-c", OPENS, place_of(database)]
    other = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (other.returncode, other.stdout) == (1, "")
    assert "another process has the database" in other.stderr
    database.begin(session("kept"), run("kept", "kept"))
    database.close()

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        holder.kill()
    after = opened()
    assert [each.run_id for each in after.open()] == ["kept"]
    after.close()


def test_tables_of_another_version_are_rejected_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"`.*runs\.db` has version 1, this program reads 3"):
        SqliteDatabase(path).open()
    assert path.read_bytes() == before


def test_tables_of_another_version_on_a_server_are_rejected(postgresql_server: postgresql.PostgresqlServer) -> None:
    url = postgresql_server.create_database()
    database = PostgresqlDatabase(url)
    database.open()
    database.close()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE spanwise.format SET version = 1")
    with pytest.raises(ConfigurationError, match="has version 1, this program reads 3"):
        PostgresqlDatabase(url).open()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://keeper:word@hidden@127.0.0.1/name",
        "postgresql://keeper:hidden/word@127.0.0.1/name",
        "postgresql://keeper:12/hidden@127.0.0.1/name",
        "postgresql://127.0.0.1/name?hidden=1",
        "postgresql://127.0.0.1:hidden/name",
        "mysql://hidden",
        "hidden",
    ],
)
def test_an_address_that_cannot_be_read_is_rejected_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError) as rejected:
        PostgresqlDatabase(url)
    assert "hidden" not in str(rejected.value)
    assert rejected.value.__cause__ is None


def test_a_server_that_rejects_the_connection_is_named_without_the_password(
    postgresql_server: postgresql.PostgresqlServer,
) -> None:
    query = postgresql_server.url("nothing")
    with pytest.raises(ConfigurationError, match='database "nothing" does not exist'):
        PostgresqlDatabase(query).open()
    with pytest.raises(ConfigurationError, match="password authentication failed") as rejected:
        PostgresqlDatabase(query.replace("%20secret", "hidden")).open()
    assert "hidden" not in str(rejected.value)
    with pytest.raises(ConfigurationError, match="cannot open the database of runs"):
        PostgresqlDatabase(query.replace(str(postgresql_server.port), "1")).open()


def test_a_lost_server_is_reported_and_used_again_when_it_is_back() -> None:
    with postgresql.running() as server:
        database = PostgresqlDatabase(server.create_database())
        database.open()
        database.add_session(session("before"))
        server.stop("immediate")
        with pytest.raises(UnavailableError, match="the database of runs does not answer"):
            database.session(key("before"))
        server.start()
        assert database.session(key("before")) == session("before")
        database.close()


def test_a_broken_connection_does_not_let_two_services_write(
    postgresql_server: postgresql.PostgresqlServer,
) -> None:
    url = postgresql_server.create_database()
    first, second = PostgresqlDatabase(url), PostgresqlDatabase(url)
    first.open()
    with psycopg.connect(postgresql_server.url("postgres"), autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [url.rpartition("/")[2]]
        )
    second.open()
    with pytest.raises(UnavailableError, match="another process has the database of runs open"):
        first.add_session(session("late"))
    second.close()
    assert first.add_session(session("late"))
    first.close()
