"""The programs of the guide and of the README run as printed, against a real service."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import captures
from support.paths import ROOT
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESS = "http://127.0.0.1:7777"
GUIDE = (ROOT / "docs" / "client.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def programs_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("guide") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


def run(program: str, service: RunningService) -> str:
    """Returns the output of a program, after it has sent its last spans."""
    source = program.replace(ADDRESS, service.url)
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", source], capture_output=True, text=True, check=False, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_guide_runs_from_top_to_bottom(captured: RunningService) -> None:
    printed = run("\n".join(programs_of(GUIDE)), captured)
    slow = captured.search(
        filter={
            "op": "AND",
            "conditions": [
                {"op": "EQ", "key": "status", "value": "ERROR"},
                {"op": "GT", "key": "duration_ms", "value": 50},
            ],
        }
    ).json()["meta"]["total_count"]
    assert f"slow failures: {slow}\n" in printed
    assert slow > 0
    assert '{"op": "CONTAINS", "key": "name", "value": "weather"}' in printed
    assert "total_tokens" in printed
    assert "400 BAD_REQUEST unknown operator `GTT` - at `$.op`" in printed
    [sent] = captured.items(filter={"op": "EQ", "key": "session_id", "value": "holiday"})
    assert (sent["name"], sent["user_id"], sent["total_spans"]) == ("plan a trip", "ann", 2)


def test_the_lines_of_the_readme_run(captured: RunningService) -> None:
    [program] = [program for program in programs_of(README) if "spanwise.connect" in program]
    assert len(program.strip().splitlines()) == 6
    assert run(program, captured).strip()
