from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
from running import free_port

if TYPE_CHECKING:
    from pathlib import Path


def start_demo(data_dir: Path, port: int, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "spanwise", "demo", "--data-dir", str(data_dir), "--port", str(port), *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def read_printed(demo: subprocess.Popen[str]) -> str:
    """Returns what the demo printed, up to its last request to try."""
    assert demo.stdout is not None
    printed = ""
    while "/traces/" not in printed.rsplit("/traces/search", maxsplit=1)[-1]:
        line = demo.stdout.readline()
        assert line, printed
        printed += line
    return printed


def send(line: str) -> httpx.Response:
    """Sends what a printed `curl` line sends."""
    command, silent, url, *rest = shlex.split(line)
    assert (command, silent) == ("curl", "-s")
    transport = httpx.HTTPTransport(retries=50)
    with httpx.Client(transport=transport, timeout=30) as client:
        while True:
            answer = client.get(url) if not rest else client.post(url, headers=header(rest[1]), content=rest[3])
            if answer.status_code != 503:
                return answer


def header(text: str) -> dict[str, str]:
    name, _, value = text.partition(": ")
    return {name: value}


def test_the_demo_fills_once_serves_what_it_prints_and_ends_cleanly(tmp_path: Path) -> None:
    port = free_port()
    with start_demo(tmp_path / "demo", port, "--traces", "400") as demo:
        printed = read_printed(demo)
        assert f"Serving http://127.0.0.1:{port} until Ctrl-C" in printed
        failures, sessions, captured = (
            send(line).raise_for_status().json() for line in printed.splitlines() if line.startswith("curl")
        )
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0
    assert {item["status"] for item in failures["data"]} == {"ERROR"}
    assert {"session_id", "total_traces"} <= sessions["data"][0].keys()
    assert "TOOL" in {node["type"] for node in captured["tree"][0]["spans"]}

    with start_demo(tmp_path / "demo", port) as demo:
        printed = read_printed(demo)
        demo.send_signal(signal.SIGINT)
        demo.wait(15)
    assert "400 traces of seed 7 are in" in printed
