"""Commands and programs of the documentation, run as printed against a running service."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.documents import blocks_of
from support.paths import ROOT

if TYPE_CHECKING:
    from support.documents import Command
    from support.services.process import RunningService

TUTORIAL = ROOT / "docs" / "tutorial.md"


def need_curl_and_jq() -> None:
    """Skips a test if `curl` or `jq` is missing, unless skips are forbidden."""
    if not (shutil.which("jq") and shutil.which("curl")):
        assert "TESTS_SKIP_NOTHING" not in os.environ
        pytest.skip("jq and curl are not installed")


def run_printed(command: Command, folder: Path, service: RunningService) -> str:
    """Runs a command in `folder` and returns its output."""
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", command.line.replace(":7777", f":{service.port}")],
        cwd=folder,
        env=os.environ
        | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "SPANWISE_PORT": str(service.port),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_program(source: str, folder: Path, service: RunningService) -> str:
    """Runs a Python program in `folder` and returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", source.replace(":7777", f":{service.port}")],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def send_travel(folder: Path, service: RunningService) -> None:
    """Sends the three traces of the tutorial with its program."""
    (program,) = (block.text for block in blocks_of(TUTORIAL) if re.search(r"Save this as `travel\.py`", block.before))
    assert len(run_program(program, folder, service).splitlines()) == 3
