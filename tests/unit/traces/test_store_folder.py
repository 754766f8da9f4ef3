"""Store folders and data folders are told apart, and folders with other contents are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from spanwise import Filter, Service, TraceStore
from spanwise.cli import commands
from spanwise.errors import ConfigurationError
from spanwise.settings import load_settings
from spanwise.traces.search import queries
from spanwise.traces.store_options import open_store
from support.clients.otlp import captures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYTHING = Filter.compile(b"null")
COMMANDS: dict[str, Callable[[Path, Path], list[object]]] = {
    "search": lambda folder, _: ["search", folder, "--json"],
    "show": lambda folder, _: ["show", folder, "0" * 32],
    "check": lambda folder, _: ["check", folder],
    "compact": lambda folder, _: ["compact", folder],
    "export": lambda folder, target: ["export", folder, "-o", target],
    "delete": lambda folder, _: ["delete", folder, "{}", "--dry-run"],
    "backup": lambda folder, target: ["backup", folder, target],
}
"""The arguments of each command, with a target if it has one."""


def fill(folder: Path) -> Path:
    """Creates a store with the spans of one request in a folder, and returns the folder."""
    store = TraceStore.open(str(folder))
    capture = next(iter(captures()))
    store.ingest(capture.body, capture.content_type, capture.content_encoding)
    store.close()
    return folder


def data_folder(folder: Path) -> Path:
    """Creates a data folder with a store, and returns it."""
    fill(folder / "traces")
    (folder / "demo.json").touch()
    return folder


def divided_data_folder(folder: Path) -> Path:
    """Creates a data folder with a store of two shards, and returns it."""
    settings = load_settings(code={"data_dir": str(folder), "shards": 2}, environ={})
    store = open_store(settings.trace_store, settings)
    capture = next(iter(captures()))
    store.ingest(capture.body, capture.content_type, capture.content_encoding)
    store.close()
    return folder


def listing(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def count(url: object) -> int:
    store = TraceStore.open_read_only(str(url))
    try:
        return store.query(queries.runs(EVERYTHING, 1, 1)).total
    finally:
        store.close()


def run(arguments: list[object]) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.mark.parametrize("spelling", ["{}", "{}/", "file://{}"])
def test_a_store_is_found_in_its_folder_and_in_a_data_folder(tmp_path: Path, spelling: str) -> None:
    store, data = fill(tmp_path / "store"), data_folder(tmp_path / "data")
    for folder in (store, data, data / "traces", store / "traces"):
        url = spelling.format(folder)
        TraceStore.open(url).close()
        assert count(url) == 1
        assert TraceStore.check(url)
        TraceStore.follow(url).close()
    assert not (store / "traces").exists()
    assert not (data / "manifest").exists()
    backup = json.loads(TraceStore.backup(str(data), str(tmp_path / "copy")))
    assert (backup["bytes"] > 0, count(tmp_path / "copy")) == (True, 1)


def test_a_data_folder_without_a_store_gets_one_where_the_service_has_it(tmp_path: Path) -> None:
    (tmp_path / "runs.db").touch()
    TraceStore.open(str(tmp_path)).close()
    assert (tmp_path / "traces" / "manifest").is_dir()
    assert not (tmp_path / "manifest").exists()


@pytest.mark.parametrize("entries", [[], ["lost+found"], [".hidden"], ["LOCK", "manifest", "wal", "segments"]])
def test_an_empty_folder_becomes_a_store(tmp_path: Path, entries: list[str]) -> None:
    for name in entries:
        (tmp_path / name).touch() if name == "LOCK" else (tmp_path / name).mkdir()
    TraceStore.open(str(tmp_path)).close()
    assert (tmp_path / "manifest").is_dir()


def test_a_folder_with_something_else_is_refused_and_stays(tmp_path: Path) -> None:
    for name in ("notes.txt", "src", "a", "b"):
        (tmp_path / name).touch()
    before = listing(tmp_path)
    opening: list[Callable[[str], object]] = [
        TraceStore.open,
        TraceStore.open_read_only,
        TraceStore.follow,
        TraceStore.check,
        lambda url: TraceStore.backup(url, str(tmp_path / "copy")),
    ]
    for open_it in opening:
        with pytest.raises(ConfigurationError) as refused:
            open_it(str(tmp_path))
        assert "found `a`, `b`, `notes.txt`, 1 more: pass the folder of a store, a data folder, or a" in str(
            refused.value
        )
    assert listing(tmp_path) == before


def test_the_folder_to_pass_is_named(tmp_path: Path) -> None:
    data_folder(tmp_path / "data")
    with pytest.raises(ConfigurationError, match=r"found `data`: `.*/data` holds a store, pass that"):
        TraceStore.open(str(tmp_path))
    assert f"found `data`: `{tmp_path / 'data'}` holds a store, pass that" in run(["search", tmp_path]).output


def test_two_stores_in_each_other_are_not_mixed_up(tmp_path: Path) -> None:
    fill(tmp_path / "outer")
    (tmp_path / "data").mkdir()
    fill(tmp_path / "elsewhere").rename(tmp_path / "outer" / "traces")
    with pytest.raises(ConfigurationError, match=r"is a store, and there is another one in `.*/outer/traces`: pass"):
        TraceStore.open(str(tmp_path / "outer"))
    assert count(tmp_path / "outer" / "traces") == 1
    assert run(["search", tmp_path / "outer"]).exit_code == 0, "a service has its store in `traces`"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("make", [data_folder, divided_data_folder, fill])
def test_commands_take_both_kinds_of_folders(tmp_path: Path, command: str, make: Callable[[Path], Path]) -> None:
    folder = make(tmp_path / "folder")
    place = folder if make is fill else folder / "traces"
    before = {path for path in listing(folder) if path.name == "manifest"}
    for number, given in enumerate((folder, place)):
        done = run(COMMANDS[command](given, tmp_path / f"target {number}"))
        if command == "show":
            assert "has no trace" in done.output
        else:
            assert done.exit_code == 0, done.output
    assert {path for path in listing(folder) if path.name == "manifest"} == before


@pytest.mark.parametrize("command", [*COMMANDS, "import", "demo"])
def test_commands_refuse_a_folder_that_holds_something_else(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").touch()
    before = listing(tmp_path)
    others = {"import": ["import", folder, folder / "notes.txt"], "demo": ["demo", "--data-dir", folder, "--no-open"]}
    done = run(others.get(command) or COMMANDS[command](folder, tmp_path / "target"))
    assert done.exit_code == 1
    assert f"expected traces in `{folder}`, found `notes.txt`: pass a data folder, the folder of a store" in done.output
    assert listing(tmp_path) == before


def test_a_backup_goes_into_no_other_folder(tmp_path: Path) -> None:
    data, store = data_folder(tmp_path / "data"), fill(tmp_path / "store")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    for target, why in (
        (store, "found something in"),
        (data, "found something in"),
        (tmp_path / "other", "`notes.txt`"),
    ):
        before = listing(target)
        done = run(["backup", data, target])
        assert (done.exit_code, why in done.output) == (1, True), done.output
        assert listing(target) == before


def test_settings_and_programs_name_stores_by_either_folder(tmp_path: Path) -> None:
    store, data = fill(tmp_path / "store"), data_folder(tmp_path / "data")
    stores = {"store": str(store), "data": str(data)}
    settings = load_settings(code={"stores": stores}, environ={})
    assert settings.trace_stores == {"store": str(store), "data": str(data / "traces")}
    assert load_settings(code={"data_dir": str(store)}, environ={}).trace_store == str(store)
    assert load_settings(code={"data_dir": str(data)}, environ={}).trace_store == str(data / "traces")
    assert load_settings(code={"data_dir": "s3://bucket/a"}, environ={}).trace_store == "s3://bucket/a/traces"
    Service(traces={"data": data}, settings={"data_dir": str(tmp_path / "new")})


def test_a_data_folder_may_hold_the_files_of_settings_first(tmp_path: Path) -> None:
    for name in ("keys", "cache"):
        (tmp_path / name).mkdir()
    for name in ("spanwise.toml", "agents.db", "agents.db-wal"):
        (tmp_path / name).touch()
    code = {"data_dir": str(tmp_path), "jwt_jwks_file": str(tmp_path / "keys" / "jwks.json")}
    with pytest.raises(ConfigurationError, match="found `cache`: pass a data folder"):
        _ = load_settings(code=code, environ={}).trace_store
    code["cache_dir"] = str(tmp_path / "cache")
    assert load_settings(code=code, environ={}).trace_store == str(tmp_path / "traces")
