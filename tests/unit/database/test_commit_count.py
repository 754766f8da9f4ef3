"""After a kill, damage in SQLite's write-ahead file is reported and not mistaken for the end of the file."""

from __future__ import annotations

import logging
import os
import random
import shutil
from typing import TYPE_CHECKING

import pytest

from spanwise.database import SessionKey, SessionRecord
from spanwise.database.integrity import check_file
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import ConfigurationError, RecordDamagedError

if TYPE_CHECKING:
    from pathlib import Path

SEED = 7
SESSIONS = 12
FILES = ("runs.db", "runs.db-wal", "runs.db.commits")


def session(number: int) -> SessionRecord:
    return SessionRecord(
        session_id=f"s{number}",
        user_id="ann",
        kind="agent",
        component_id="echo",
        name=f"session {number}",
        state={"text": f"{number} " * 100},
        metadata={},
        created_at=1,
        updated_at=1,
    )


def names(database: SqliteDatabase) -> dict[int, str]:
    """Returns the names of the existing sessions."""
    found = {number: database.session(SessionKey("ann", f"s{number}")) for number in range(SESSIONS)}
    return {number: each.name or "" for number, each in found.items() if each is not None}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the files that a kill leaves after some transactions."""
    folder, running = tmp_path_factory.mktemp("killed"), tmp_path_factory.mktemp("running")
    database = SqliteDatabase(running / "runs.db")
    database.open()
    for number in range(SESSIONS):
        assert database.add_session(session(number)) is not None
    for name in FILES:
        shutil.copy2(running / name, folder / name)
    database.close()
    assert not (running / "runs.db-wal").exists(), "a clean stop leaves none"
    return folder


def copied(killed: Path, folder: Path) -> Path:
    folder.mkdir()
    for name in FILES:
        shutil.copy2(killed / name, folder / name)
    return folder / "runs.db"


def add_in_vain(database: SqliteDatabase, added: SessionRecord) -> None:
    """Adds a session in a transaction that fails."""
    with database.together():
        assert database.add_session(added) is not None
        raise ZeroDivisionError


def read(path: Path, caplog: pytest.LogCaptureFixture) -> tuple[dict[int, str] | None, str]:
    """Returns the contents of a database, and the problem that its log reports."""
    caplog.clear()
    database, reason = SqliteDatabase(path), ""
    try:
        database.open()
        found: dict[int, str] | None = names(database)
    except ConfigurationError as error:
        found, reason = None, str(error)
    finally:
        database.close()
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    return found, " ".join([reason, *logged]).strip()


def test_what_a_kill_leaves_is_whole(killed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = copied(killed, tmp_path / "copy")
    assert check_file(path)["sessions"] == SESSIONS
    for _ in range(2):
        assert read(path, caplog) == ({number: f"session {number}" for number in range(SESSIONS)}, "")


@pytest.mark.parametrize("flips", [20, pytest.param(int(os.environ.get("SLOW_FLIPS", "1000")), marks=pytest.mark.slow)])
def test_no_flipped_bit_of_the_write_ahead_file_is_silent(
    killed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, flips: int
) -> None:
    whole = copied(killed, tmp_path / "whole")
    expected = read(whole, caplog)
    generator = random.Random(SEED)
    size, lost = (killed / "runs.db-wal").stat().st_size, 0
    for number in range(flips):
        place, bit = generator.randrange(size), generator.randrange(8)
        path = copied(killed, tmp_path / str(number))
        content = bytearray((killed / "runs.db-wal").read_bytes())
        content[place] ^= 1 << bit
        path.with_name("runs.db-wal").write_bytes(content)
        found, named = read(path, caplog)
        assert (found, named) == expected or "newest transactions" in named, f"bit {bit} of byte {place} is silent"
        lost += bool(named)
        shutil.rmtree(path.parent)
    assert lost > flips / 2, "most of the file is in use"


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_a_check_misses_lost_transactions(
    killed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    path = copied(killed, tmp_path / "copy")
    ahead = path.with_name("runs.db-wal")
    content = ahead.read_bytes()
    match damage:
        case "gone":
            ahead.unlink()
        case "cut":
            ahead.write_bytes(content[: len(content) * 3 // 4])
        case _:
            place = len(content) * 3 // 4
            ahead.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(RecordDamagedError):
        check_file(path)
    found, named = read(path, caplog)
    assert found is not None
    assert len(found) < SESSIONS
    assert "runs.db-wal" in named
    database = SqliteDatabase(path)
    database.open()
    assert database.add_session(session(SESSIONS)) is not None
    database.close()
    assert read(path, caplog)[1] == "", "what is lost is named until something new is stored"


@pytest.mark.parametrize(("content", "is_named"), [(b"", False), (b"\0" * 29, True), (b"0000000000000000099 x", True)])
def test_a_number_that_cannot_be_read_hinders_nothing(
    killed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes, *, is_named: bool
) -> None:
    path = copied(killed, tmp_path / "copy")
    path.with_name("runs.db.commits").write_bytes(content)
    found, named = read(path, caplog)
    assert found is not None
    assert len(found) == SESSIONS
    assert ("runs.db.commits" in named) == is_named


def test_a_transaction_that_changes_nothing_or_fails_has_no_number(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    database = SqliteDatabase(path)
    database.open()
    note = path.with_name("runs.db.commits")
    assert database.add_session(session(1)) is not None
    before = note.read_bytes()
    assert database.add_session(session(1)) is None
    assert names(database) == {1: "session 1"}
    with pytest.raises(ZeroDivisionError):
        add_in_vain(database, session(2))
    assert note.read_bytes() == before
    assert database.add_session(session(3)) is not None
    assert note.read_bytes() > before
    database.close()
    assert check_file(path)["sessions"] == 2
