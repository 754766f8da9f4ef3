"""The printed output in the README and in the demo guide matches a running demo."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from support.documents import commands_of, console_of, words_of
from support.paths import ROOT
from support.services.demo import read_output, start_demo
from support.services.process import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.documents import Command

TRACES = "50"
COMMANDS = [
    *commands_of(console_of(ROOT / "README.md")),
    # The made-up traces, and so the slow failures, change every day.
    *(each for each in commands_of(console_of(ROOT / "docs" / "how-to" / "demo.md")) if "duration_ms" not in each.line),
]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a demo with few made-up traces beside the captured ones."""
    if not (shutil.which("jq") and shutil.which("curl")):
        assert "TESTS_SKIP_NOTHING" not in os.environ
        pytest.skip("jq and curl are not installed")
    found = free_port()
    with start_demo(tmp_path_factory.mktemp("demo") / "demo", found, "--traces", TRACES) as demo:
        read_output(demo)
        with httpx.Client(transport=httpx.HTTPTransport(retries=50)) as client:
            while not client.get(f"http://127.0.0.1:{found}/health", params={"ready": "true"}).is_success:
                pass
        yield found
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0


def run(command: Command, port: int, folder: Path) -> str:
    name, *arguments = shlex.split(command.line)
    if name == "spanwise":
        typed = [sys.executable, "-m", "spanwise", *arguments, "--url", f"http://127.0.0.1:{port}"]
    else:
        typed = ["/bin/sh", "-c", command.line.replace(":7777", f":{port}")]
    return subprocess.run(typed, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_there_are_commands_to_try() -> None:
    assert len(COMMANDS) == 4


@pytest.mark.parametrize("command", COMMANDS, ids=["README", "show", "run", "search"])
def test_a_demo_answers_what_is_printed(command: Command, port: int, tmp_path: Path) -> None:
    assert words_of(run(command, port, tmp_path)) == words_of(command.output)
