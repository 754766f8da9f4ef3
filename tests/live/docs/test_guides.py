"""The printed output in the guides matches the actual output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.documents import blocks_of, commands_of, words_of
from support.paths import IMPORTS, ROOT
from support.services.process import NO_DEFAULT_PORTS, RunningService, free_port

if TYPE_CHECKING:
    from pathlib import Path

GUIDES = ROOT / "docs" / "how-to"
SAMPLES = {
    "phoenix.parquet": IMPORTS / "phoenix" / "spans.parquet",
    "observations.jsonl": IMPORTS / "langfuse" / "observations.jsonl",
    "jaeger.json": IMPORTS / "jaeger" / "traces.json",
    "agno.db": ROOT / "tests" / "agno_databases" / "traced-by-2.7.2.db",
}
"""Exports of other programs, by their names in the guide."""


def spanwise(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a printed command in `folder`."""
    name, *arguments = line.split()
    assert name == "spanwise"
    return subprocess.run(
        [sys.executable, "-m", "spanwise", *arguments],
        cwd=folder,
        env=os.environ | NO_DEFAULT_PORTS | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_other_programs_left_is_imported_as_the_guide_says(tmp_path: Path) -> None:
    for name, source in SAMPLES.items():
        (tmp_path / name).write_bytes(source.read_bytes())
    blocks = blocks_of(GUIDES / "move.md")
    (printed,) = (block for block in blocks if block.language == "console")
    (first,) = commands_of(printed.text)
    done = spanwise(first.line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert words_of(done.stdout) == words_of(first.output)
    lines = [line for block in blocks if block.language == "sh" for line in block.text.splitlines()]
    imports = [line for line in lines if line.startswith("spanwise import") and "postgresql" not in line]
    assert {line.split()[-1] for line in imports} == set(SAMPLES)
    for line in imports:
        done = spanwise(line, tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.match(r"Imported \d+ spans into", done.stdout)


@pytest.mark.parametrize("number", [0, 1], ids=["a held store", "a taken port"])
def test_a_start_that_fails_says_what_the_guide_says(tmp_path: Path, number: int) -> None:
    blocks = [block for block in blocks_of(GUIDES / "troubleshoot.md") if block.language == "console"]
    assert len(blocks) == 2
    (command,) = commands_of(blocks[number].text)
    with RunningService(tmp_path / "spanwise-data") as service:
        done = spanwise(command.line, tmp_path, SPANWISE_PORT=str(service.port if number else free_port()))
        said = command.output.replace("4711", str(service.process.pid)).replace(":7777", f":{service.port}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == said


def test_a_store_is_backed_up_and_served_again_as_the_guide_of_upgrades_says(tmp_path: Path) -> None:
    (block,) = (block for block in blocks_of(GUIDES / "upgrade.md") if block.language == "sh")
    backup, upgrade = block.text.splitlines()
    assert upgrade == "pip install --upgrade spanwise"
    with RunningService(tmp_path / "spanwise-data") as service:
        done = spanwise(backup.partition("#")[0], tmp_path)
        assert done.returncode == 0, done.stderr
        assert service.stop() == 0
    with RunningService(tmp_path / "spanwise-backup") as service:
        assert service.search().status_code == 200
