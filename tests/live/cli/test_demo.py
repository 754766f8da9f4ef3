from __future__ import annotations

import shlex
import signal
from typing import TYPE_CHECKING

import httpx

from support.services.demo import read_output, start_demo
from support.services.process import free_port

if TYPE_CHECKING:
    from pathlib import Path

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
"""The default headers of curl."""


def send(line: str) -> httpx.Response:
    """Sends the request of a printed `curl` line."""
    command, silent, url, *rest = shlex.split(line)
    assert (command, silent) == ("curl", "-s")
    given = list(zip(rest[::2], rest[1::2], strict=True))
    headers = dict(value.split(": ") for flag, value in given if flag == "-H")
    fields = [value for flag, value in given if flag == "-d"]
    transport = httpx.HTTPTransport(retries=50)
    with httpx.Client(transport=transport, timeout=30, headers=FORM | headers) as client:
        while True:
            response = client.post(url, content="&".join(fields)) if fields else client.get(url)
            if response.status_code != 503:
                return response


def test_the_demo_fills_once_serves_what_it_prints_and_ends_cleanly(tmp_path: Path) -> None:
    port = free_port()
    with start_demo(tmp_path / "demo", port, "--traces", "400") as demo:
        printed = read_output(demo)
        assert f"Serving on http://127.0.0.1:{port} (press Ctrl-C to stop)" in printed
        failures, sessions, captured, run, found = (
            send(line).raise_for_status().json() for line in printed.splitlines() if line.startswith("curl")
        )
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0
    assert {item["status"] for item in failures["data"]} == {"ERROR"}
    assert {"session_id", "total_traces"} <= sessions["data"][0].keys()
    assert "TOOL" in {node["type"] for node in captured["tree"][0]["spans"]}
    assert [each["run_id"] for each in found["data"]] == [run["run_id"]]
    assert found["data"][0]["output"] == run["content"]

    with start_demo(tmp_path / "demo", port) as demo:
        printed = read_output(demo)
        send(next(line for line in printed.splitlines() if line.startswith("curl"))).raise_for_status()
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0
    assert "400 traces of seed 7 in" in printed
