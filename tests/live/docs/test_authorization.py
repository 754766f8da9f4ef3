"""The first commands of the guide to authorization: a minted token is accepted."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from support.documents import blocks_of
from support.paths import ROOT
from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path

FIRST = next(block.text for block in blocks_of(ROOT / "docs" / "authorization.md") if block.language == "sh")


def run(line: str, folder: Path) -> str:
    """Runs a printed command and returns its output."""
    name, *arguments = shlex.split(line)
    assert name == "spanwise"
    command = [sys.executable, "-m", "spanwise", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_a_minted_token_is_accepted_as_the_guide_says(tmp_path: Path) -> None:
    keygen, serve = re.findall(r"^(?:spanwise|JWT_).*$", FIRST, re.MULTILINE)
    run(keygen, tmp_path)
    variable, *command = serve.split()
    assert command == ["spanwise", "serve", "--authorization"]
    assert variable.startswith("JWT_JWKS_FILE=")
    keys = tmp_path / variable.partition("=")[2]
    with RunningService(tmp_path / "data", *command[2:], JWT_JWKS_FILE=str(keys)) as service:
        (mint,) = re.findall(r"\$\((.*?)\)", FIRST)
        (address,) = re.findall(r"curl http://[^/]*(/\S*)", FIRST)
        assert service.http.get(address).status_code == 401
        assert service.http.get(address, headers={"Authorization": f"Bearer {run(mint, tmp_path)}"}).status_code == 200
