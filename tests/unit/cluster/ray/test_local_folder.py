"""The folder of a local Ray: private, and removed after any end of its process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from spanwise.cluster.ray.local_folder import PREFIX, LocalFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLDS = """
import sys
from spanwise.cluster.ray.local_folder import LocalFolder
folder = LocalFolder()
(folder.for_ray / "session").mkdir()
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files for this test and its child processes."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(parent: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process with such a folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(str(parent / PREFIX))
        yield process
        process.kill()


def folders(parent: Path) -> list[Path]:
    return sorted(parent.glob(f"{PREFIX}*"))


def test_others_cannot_enter_whatever_ray_makes_of_its_own_folder(parent: Path) -> None:
    folder = LocalFolder()
    folder.for_ray.chmod(0o777)
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert folder.for_ray.parent == folder.path
    folder.remove()
    assert folders(parent) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next(parent: Path, holder: subprocess.Popen[str]) -> None:
    (left,) = folders(parent)
    first = LocalFolder()
    assert left in folders(parent), "its process still runs"
    first.remove()
    holder.kill()
    holder.wait()
    assert folders(parent) == [left]
    second = LocalFolder()
    assert folders(parent) == [second.path]
    second.remove()


def test_nothing_else_is_removed(parent: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "owner").touch()
    (parent / f"{PREFIX}link").symlink_to(elsewhere)
    (parent / f"{PREFIX}file").touch()
    (parent / f"{PREFIX}of-an-earlier-version").mkdir()
    linked = parent / f"{PREFIX}linked-lock"
    linked.mkdir()
    (linked / "owner").symlink_to(elsewhere / "owner")
    before = folders(parent)
    LocalFolder().remove()
    assert folders(parent) == before
    assert (elsewhere / "owner").exists()


def test_a_folder_of_this_process_is_not_abandoned(parent: Path) -> None:
    first, second = LocalFolder(), LocalFolder()
    assert folders(parent) == sorted([first.path, second.path])
    first.remove()
    second.remove()
