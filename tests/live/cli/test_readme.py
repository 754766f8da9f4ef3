"""The examples of the README about tokens and the demo's agents."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from support.documents import commands_of
from support.paths import ROOT
from support.services.demo import read_output, start_demo
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from pathlib import Path

README = (ROOT / "README.md").read_text("utf-8")
SECTION = README.partition("## Know your callers")[2].partition("## ")[0]
PROGRAM = [sys.executable, "-m", "spanwise"]


def run(line: str, folder: Path) -> str:
    """Runs a printed command and returns its output."""
    name, *arguments = shlex.split(line)
    assert name == "spanwise"
    done = subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_minted_token_is_accepted_as_the_readme_says(tmp_path: Path) -> None:
    keygen, serve, *_ = re.findall(r"^(?:spanwise|JWT_).*$", SECTION, re.MULTILINE)
    run(keygen, tmp_path)
    variable, *command = serve.split()
    assert command == ["spanwise", "serve", "--authorization"]
    assert variable.startswith("JWT_JWKS_FILE=")
    keys = tmp_path / variable.partition("=")[2]
    with RunningService(tmp_path / "data", *command[2:], JWT_JWKS_FILE=str(keys)) as service:
        (mint,) = re.findall(r"\$\((.*?)\)", SECTION)
        (address,) = re.findall(r"curl http://[^/]*(/\S*)", SECTION)
        assert service.http.get(address).status_code == 401
        assert service.http.get(address, headers={"Authorization": f"Bearer {run(mint, tmp_path)}"}).status_code == 200


def test_an_agent_of_the_demo_runs_and_its_trace_is_found_as_the_readme_says(tmp_path: Path) -> None:
    if not (shutil.which("jq") and shutil.which("curl")):
        assert "TESTS_SKIP_NOTHING" not in os.environ
        pytest.skip("jq and curl are not installed")
    (block,) = re.findall(r"```console\n(\$ curl \S* \S*/agents/.*?)```", README, re.DOTALL)
    commands = commands_of(block)
    assert len(commands) == 2
    (shown,) = re.findall(r"```console\n(\$ target/demo/bin/spanwise show .*?)```", README, re.DOTALL)
    port = free_port()
    with start_demo(tmp_path / "demo", port, "--traces", "50") as demo:
        read_output(demo)
        wait_until_ready(port)
        (show, tree) = next(each for each in commands_of(shown) if " show " in each[0])
        url = f"http://127.0.0.1:{port}"
        assert run(f"spanwise show {show.split()[-1]} --url {url}", tmp_path) == tree.strip()
        for command, printed in commands:
            here = command.replace(":7777", f":{port}")
            done = subprocess.run(["/bin/sh", "-c", here], capture_output=True, text=True, check=True)
            assert done.stdout.split() == printed.split()
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0


def wait_until_ready(port: int) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(retries=50)) as client:
        while not client.get(f"http://127.0.0.1:{port}/health", params={"ready": "true"}).is_success:
            pass
