"""The tutorial runs from top to bottom as it is printed, against a service of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.documents import Command, blocks_of, commands_of, words_of
from support.paths import ROOT
from support.services.process import RunningService

PAGE = ROOT / "docs" / "tutorial.md"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
SERVE = "spanwise serve --data-dir ./spanwise-data"


def run(command: Command, folder: Path, service: RunningService) -> None:
    """Runs a command in `folder` and compares its output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", command.line.replace(":7777", f":{service.port}")],
        cwd=folder,
        env=os.environ | {"PATH": path, "SPANWISE_PORT": str(service.port)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert words_of(done.stdout) == words_of(command.output), command.line


def test_the_tutorial_runs_from_top_to_bottom(tmp_path: Path) -> None:
    if not (shutil.which("jq") and shutil.which("curl")):
        assert "TESTS_SKIP_NOTHING" not in os.environ
        pytest.skip("jq and curl are not installed")
    first, *blocks = blocks_of(PAGE)
    install, serve = first.text.splitlines()
    extras = re.fullmatch(r"pip install 'spanwise\[([\w,-]+)\]'", install)
    assert extras
    assert set(extras[1].split(",")) <= set(EXTRAS)
    assert serve == SERVE
    commands = 0
    with RunningService(tmp_path / "spanwise-data") as service:
        for block in blocks:
            if block.language == "python":
                (name,) = re.findall(r"[Ss]ave this as `(\w+\.py)`", block.before)
                (tmp_path / name).write_text(block.text.replace(":7777", f":{service.port}"), "utf-8")
            else:
                assert block.language == "console"
                for command in commands_of(block.text):
                    run(command, tmp_path, service)
                    commands += 1
        assert commands == 7
        assert service.http.get("/ui").status_code == 200
        assert service.stop() == 0
