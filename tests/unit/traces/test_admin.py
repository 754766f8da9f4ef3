from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from spanwise._engine import Filter, TraceStore
from spanwise.cli import commands
from spanwise.errors import ConfigurationError, FilterError
from spanwise.settings import load_settings
from spanwise.traces.admin import ExistingStore
from spanwise.traces.search import queries
from spanwise.traces.store_options import open_store

if TYPE_CHECKING:
    from pathlib import Path

ERRORS = '{"op": "EQ", "key": "status", "value": "ERROR"}'
EVERYTHING = Filter.compile(b"null")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Returns a data folder with three traces, in two segments and the write-ahead log. Two of them failed."""
    store = TraceStore.open(str(tmp_path / "traces"))
    for number, code in ((1, 2), (2, 0), (3, 2)):
        store.ingest(_export(number, code), "application/json")
        if number < 3:  # the third stays in the write-ahead log
            store.flush()
    store.close()
    return tmp_path


def _export(number: int, code: int) -> bytes:
    span = {
        "traceId": f"{number:032x}",
        "spanId": f"{1:016x}",
        "name": f"forget-me-{number}",
        "startTimeUnixNano": str(1_767_225_600_000_000_000 + number),
        "endTimeUnixNano": "1767225601000000000",
        "status": {"code": code},
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def _count(data_dir: Path) -> int:
    store = TraceStore.open(str(data_dir / "traces"))
    try:
        return store.query(queries.runs(EVERYTHING, 1, 10)).total
    finally:
        store.close()


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments)


def test_a_store_deletes_what_a_filter_matches(data_dir: Path) -> None:
    store = TraceStore.open(str(data_dir / "traces"))
    failed = Filter.compile(ERRORS.encode())
    assert store.delete(failed, dry_run=True) == 2
    assert store.query(queries.runs(EVERYTHING, 1, 10)).total == 3
    assert store.delete(failed) == 2
    assert store.query(queries.runs(EVERYTHING, 1, 10)).total == 1
    store.compact(purge=True)
    assert json.loads(store.stats())["segments"] == 1
    store.close()
    assert _count(data_dir) == 1


def test_the_command_counts_then_deletes(data_dir: Path) -> None:
    counted = _run("delete", "--dry-run", str(data_dir), ERRORS)
    assert (counted.exit_code, counted.output) == (0, "2 traces would be deleted.\n")
    assert _count(data_dir) == 3
    deleted = _run("delete", str(data_dir), ERRORS)
    assert (deleted.exit_code, deleted.output) == (0, "Deleted 2 traces.\n")
    assert _count(data_dir) == 1


def test_the_commands_leave_nothing_of_what_was_deleted(data_dir: Path) -> None:
    _run("delete", str(data_dir), "{}", "--yes")
    assert _run("compact", "--purge", str(data_dir)).exit_code == 0
    left = [path for path in data_dir.rglob("*") if path.is_file() and b"forget-me" in path.read_bytes()]
    assert left == []
    assert _count(data_dir) == 0


def test_a_store_in_use_is_left_alone(data_dir: Path) -> None:
    store = TraceStore.open(str(data_dir / "traces"))
    for arguments in (("delete", str(data_dir), ERRORS), ("compact", str(data_dir))):
        rejected = _run(*arguments)
        assert rejected.exit_code == 1
        assert "is held by process" in rejected.output
    assert store.query(queries.runs(EVERYTHING, 1, 10)).total == 3
    store.close()


def test_a_folder_without_traces_is_rejected_and_not_created(tmp_path: Path) -> None:
    settings = load_settings(code={"data_dir": str(tmp_path / "misspelt")})
    with pytest.raises(ConfigurationError, match="found no such folder"):
        ExistingStore(settings)
    assert list(tmp_path.iterdir()) == []


def test_a_filter_that_is_none_deletes_nothing(data_dir: Path) -> None:
    settings = load_settings(code={"data_dir": str(data_dir)})
    with ExistingStore(settings) as store, pytest.raises(FilterError, match="unknown operator"):
        store.delete(b'{"op": "EQUALS", "key": "status", "value": "OK"}')
    assert _count(data_dir) == 3


def test_what_is_too_old_for_the_settings_goes(data_dir: Path) -> None:
    kept = open_store(str(data_dir / "traces"), load_settings(code={"data_dir": str(data_dir)}))
    assert kept.query(queries.runs(EVERYTHING, 1, 10)).total == 3
    kept.close()
    settings = load_settings(code={"data_dir": str(data_dir), "retain_seconds": 1})
    store = open_store(str(data_dir / "traces"), settings)
    patience = time.monotonic() + 60
    while store.query(queries.runs(EVERYTHING, 1, 10)).total > 0:
        assert time.monotonic() < patience, "what is too old is still there"
        time.sleep(0.01)
    store.close()
