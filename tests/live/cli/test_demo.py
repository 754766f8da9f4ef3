from __future__ import annotations

import shlex
import signal
import subprocess
from typing import TYPE_CHECKING

from support.services.demo import read_output, start_demo
from support.services.process import free_port

if TYPE_CHECKING:
    from pathlib import Path

TAIL_SECONDS = 30


def examples(printed: str) -> list[str]:
    """Returns the printed commands."""
    _, _, tried = printed.partition("Try in another terminal:\n")
    return [line.strip() for line in tried.splitlines() if line.startswith("  ") and not line.startswith("   ")]


def run(command: str) -> str:
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_the_demo_fills_once_serves_what_it_prints_and_ends_cleanly(tmp_path: Path) -> None:
    port = free_port()
    with start_demo(tmp_path / "demo", port, "--traces", "400") as demo:
        printed = read_output(demo)
        assert "Writing 400 traces to" in printed
        assert f"user interface  http://127.0.0.1:{port}/ui" in printed
        assert f"data            {tmp_path}/demo/traces" in printed
        assert "authorization   off" in printed
        show, search, tail, curl = examples(printed)
        assert "└─ LLM    OpenAIChat.invoke" in run(show)
        assert "ERROR" in run(search)
        with subprocess.Popen(
            [*shlex.split(tail), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as following:
            assert following.stdout is not None
            assert '"started"' in following.stdout.readline()
            assert "Kyoto: sunny" in run(curl.replace("curl ", "curl -s "))
            assert '"Guide.run"' in following.stdout.readline()
            following.send_signal(signal.SIGINT)
            assert following.wait(TAIL_SECONDS) == 130
            assert following.stderr is not None
            assert following.stderr.read().split("\n")[-2] == "Stopped."
        assert "first trace received: Guide.run, 2 spans" in demo.log.read_text("utf-8")
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0

    with start_demo(tmp_path / "demo", port) as demo:
        printed = read_output(demo)
        run(examples(printed)[0])
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0
    assert "400 traces of seed 7 in" in printed
