"""The notes of a release are its section of the changelog."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / ".github" / "release_notes.py"


def notes_of(version: str, tmp_path: Path, changelog: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / ".github").mkdir()
    copy = tmp_path / ".github" / SCRIPT.name
    copy.write_bytes(SCRIPT.read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(changelog, "utf-8")
    return subprocess.run([sys.executable, copy, version], capture_output=True, text=True, check=False)


CHANGELOG = """# Changelog

Words.

## Unreleased

## [1.10.0] - 2026-12-01

### Added

- ten

## 1.1.0 - 2026-11-01

- one
"""


@pytest.mark.parametrize(("version", "notes"), [("1.10.0", "### Added\n\n- ten\n"), ("1.1.0", "- one\n")])
def test_a_version_has_its_section(tmp_path: Path, version: str, notes: str) -> None:
    assert notes_of(version, tmp_path, CHANGELOG).stdout == notes


@pytest.mark.parametrize(("version", "reason"), [("1.1", "expected a heading `## 1.1`"), ("Unreleased", "is empty")])
def test_a_release_without_notes_fails(tmp_path: Path, version: str, reason: str) -> None:
    done = notes_of(version, tmp_path, CHANGELOG)
    assert done.returncode == 1
    assert reason in done.stderr


def test_the_changelog_has_notes_for_the_version_of_the_package(tmp_path: Path) -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["package"]["version"]
    done = notes_of(version, tmp_path, (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert "\n### " in done.stdout
