"""What the README prints about tokens works as it is printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from running import Running

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SECTION = README.partition("## Know your callers")[2].partition("## ")[0]
PROGRAM = [sys.executable, "-m", "spanwise"]


def run(line: str, folder: Path) -> str:
    """Returns what a printed command says; `spanwise` is ours."""
    name, *arguments = shlex.split(line)
    assert name == "spanwise"
    done = subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_token_is_minted_and_let_in_as_the_readme_says(tmp_path: Path) -> None:
    keygen, serve, *_ = re.findall(r"^(?:spanwise|JWT_).*$", SECTION, re.MULTILINE)
    run(keygen, tmp_path)
    variable, *command = serve.split()
    assert command == ["spanwise", "serve", "--authorization"]
    assert variable.startswith("JWT_JWKS_FILE=")
    keys = tmp_path / variable.partition("=")[2]
    with Running(tmp_path / "data", *command[2:], JWT_JWKS_FILE=str(keys)) as service:
        (mint,) = re.findall(r"\$\((.*?)\)", SECTION)
        (address,) = re.findall(r"curl http://[^/]*(/\S*)", SECTION)
        assert service.http.get(address).status_code == 401
        assert service.http.get(address, headers={"Authorization": f"Bearer {run(mint, tmp_path)}"}).status_code == 200
