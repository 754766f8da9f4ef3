"""Only the files in its manifest are served from a build."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from spanwise import ConfigurationError
from spanwise.http.routing.ui import file_routes
from spanwise.ui.files import read_folder

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"index.html": b"<!doctype html>", "assets/a-1.js": b"1", "THIRD_PARTY.txt": b"MIT", "BUILT_FROM": b"0"}


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    write_manifest(tmp_path, FILES)
    return tmp_path


def write_manifest(dist: Path, files: dict[str, bytes], **members: Any) -> None:
    entries = [
        {"path": path, "bytes": len(content), "sha256": sha256(content).hexdigest()} for path, content in files.items()
    ]
    (dist / "manifest.json").write_text(json.dumps({"files": entries} | members), "utf-8")


def test_the_listed_files_are_read_and_no_others(dist: Path) -> None:
    (dist / "assets" / "other.js").write_text("2")
    assert read_folder(dist) == FILES


def test_a_changed_file_is_rejected(dist: Path) -> None:
    (dist / "assets" / "a-1.js").write_bytes(b"2")
    with pytest.raises(ConfigurationError, match=r"`assets/a-1.js` is not the file that manifest.json lists.*make ui"):
        read_folder(dist)


@pytest.mark.parametrize("path", [*FILES, "manifest.json"])
def test_a_missing_file_is_named(dist: Path, path: str) -> None:
    (dist / path).unlink()
    with pytest.raises(ConfigurationError, match=rf"cannot read `.*/{path}`: No such file"):
        read_folder(dist)


@pytest.mark.parametrize("manifest", [b"", b"{}", b'{"files": [{"path": "x"}]}', b'{"files": [], "more": 1}'])
def test_another_manifest_is_rejected(dist: Path, manifest: bytes) -> None:
    (dist / "manifest.json").write_bytes(manifest)
    with pytest.raises(ConfigurationError, match=r"the user interface is damaged: manifest.json: "):
        read_folder(dist)


def test_a_build_has_a_page(dist: Path) -> None:
    write_manifest(dist, {path: content for path, content in FILES.items() if path != "index.html"})
    with pytest.raises(ConfigurationError, match="does not list `index"):
        read_folder(dist)


def test_each_file_that_the_page_loads_has_a_public_route_of_its_own() -> None:
    routes = list(file_routes(FILES))
    assert {route.path for route in routes} == {"/ui/", "/ui/assets/a-1.js", "/ui/THIRD_PARTY.txt"}
    assert all(route.is_public and route.need is None and route.method == "GET" for route in routes)


def test_a_file_of_an_unknown_type_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match=r"expected one of \.js, .*, got `assets/a-1.wasm`"):
        list(file_routes(FILES | {"assets/a-1.wasm": b""}))
