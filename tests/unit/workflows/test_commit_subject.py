"""The commit-msg hook accepts subjects of the form `area: verb object` and explains how to correct others."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / ".ci" / "commit_subject.py"


def check(message: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    (tmp_path / "message").write_text(message, "utf-8")
    command = [sys.executable, str(SCRIPT), str(tmp_path / "message")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "message",
    [
        "filter: read the whole batch when columns cannot be projected",
        "http/routing: add a route for settings\n\nA long reason in the body is not limited: " + "x" * 100,
        "ui: compress the build",
        "docs: focus the first page on searches",
        'Revert "filter: read the whole batch when columns cannot be projected, also of views"',
        "fixup! filter: read the whole batch",
    ],
)
def test_a_subject_in_the_form_is_accepted(tmp_path: Path, message: str) -> None:
    done = check(message, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("", "write `area: verb object`"),
        ("read the whole batch", "write `area: verb object`"),
        ("filter: read", "write `area: verb object`"),
        ("Filter: read the batch", "write `area: verb object`"),
        ("filter:read the batch", "write `area: verb object`"),
        (f"filter: read {'x' * 58}", "71 characters; shorten it to 70"),
        ("filter: read the whole batch.", "remove the period"),
        ("filter: reads the whole batch", "instead of `reads`"),
        ("filter: fixed the batch", "instead of `fixed`"),
        ("filter: reading of batches", "instead of `reading`"),
        ("filter: an AND looks lists up later", "instead of `an`"),
    ],
)
def test_another_subject_is_rejected_with_advice(tmp_path: Path, message: str, advice: str) -> None:
    done = check(message, tmp_path)
    assert done.returncode == 1
    assert advice in done.stderr
