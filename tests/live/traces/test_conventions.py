"""A user's own conventions in a TOML file work like the built-in ones, also after a restart."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import export_request
from support.services.process import STOP_SECONDS, RunningService

if TYPE_CHECKING:
    from pathlib import Path

TOML = """
[conventions]
"acme.question" = "input"
"acme.answer" = "output"
"acme.context#tenant.id" = "user_id"
"acme.kind:completion" = "LLM"
"acme.kind:job" = "CHAIN"
"acme.units" = "input_tokens"
"""
TRACE = "5" * 32
JOB = {"acme.kind": "job", "acme.question": "How far is the moon?", "acme.context": '{"tenant": {"id": "alice"}}'}
CALL = {"acme.kind": "completion", "acme.answer": "Far.", "acme.units": "7"}


def request() -> bytes:
    """Returns a job with a call below it."""
    both = json.loads(export_request(TRACE, "a" * 16, "b" * 16, **JOB))
    below = json.loads(export_request(TRACE, "a" * 16, "b" * 16, **CALL))
    spans = [exported["resourceSpans"][0]["scopeSpans"][0]["spans"] for exported in (both, below)]
    spans[0][1] = spans[1][1]
    return json.dumps(both).encode()


def test_own_names_are_read_and_stay_after_a_restart(tmp_path: Path) -> None:
    config = tmp_path / "spanwise.toml"
    config.write_text(TOML, "utf-8")
    for is_sent in (True, False):
        with RunningService(tmp_path / "data", "--config", str(config)) as service:
            if is_sent:
                headers = {"Content-Type": "application/json"}
                service.http.post("/v1/traces", content=request(), headers=headers).raise_for_status()
            (trace,) = service.items(filter={"op": "EQ", "key": "user_id", "value": "alice"})
            assert trace["input"] == "How far is the moon?"
            (job,) = trace["tree"]
            (call,) = job["spans"]
            assert (job["type"], call["type"], call["output"]) == ("CHAIN", "LLM", "Far.")
            assert (job["metadata"]["total_input_tokens"], call["metadata"]["input_tokens"]) == (7, "7")
            assert service.stop() == 0


def indexed(service: RunningService) -> None:
    """Waits until every segment has its indexes."""
    waiting = re.compile(rb"^spanwise_store_segments_without_\w+\{[^}]*\} [1-9]", re.MULTILINE)
    deadline = time.monotonic() + STOP_SECONDS
    while waiting.search(service.http.get("/metrics").content):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_spans_are_indexed_anew_for_other_conventions(tmp_path: Path) -> None:
    config = tmp_path / "spanwise.toml"
    config.write_text(TOML, "utf-8")
    with RunningService(tmp_path / "data") as service:
        headers = {"Content-Type": "application/json"}
        service.http.post("/v1/traces", content=request(), headers=headers).raise_for_status()
        assert service.stop() == 0
    seal = [sys.executable, "-m", "spanwise", "compact", str(tmp_path / "data")]
    subprocess.run(seal, check=True, timeout=STOP_SECONDS, capture_output=True)
    calls = {"op": "SPAN", "where": {"op": "EQ", "key": "input_tokens", "value": 7}}
    said = {"op": "CONTAINS", "key": "output", "value": "far"}
    for flags, count in (((), 0), (("--config", str(config)), 1)):
        with RunningService(tmp_path / "data", *flags) as service:
            indexed(service)
            assert [len(service.items(filter=asked)) for asked in (calls, said)] == [count, count]
            assert service.stop() == 0


CASES: dict[str, tuple[str, list[str]]] = {
    "an unknown meaning": ("acme.x=inputs", ["`acme.x`", "`inputs`", "input,", "session_id", "EMBEDDING"]),
    "a type that is none": ("acme.x:y=llm", ["`acme.x:y`", "`llm`", "LLM"]),
    "no attribute": ("#member=input", ["`#member`"]),
    "no name": ("input", ["Expected `name=value`"]),
    "twice": ("acme.x=input,acme.x=output", ["each name once"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_convention_is_an_error_at_start(case: str, tmp_path: Path) -> None:
    conventions, words = CASES[case]
    environment: dict[str, Any] = {key: value for key, value in os.environ.items() if not key.startswith("SPANWISE_")}
    done = subprocess.run(
        [sys.executable, "-m", "spanwise", "serve", "--data-dir", str(tmp_path / "data"), "--port", "1"],
        env=environment | {"SPANWISE_CONVENTIONS": conventions},
        capture_output=True,
        timeout=STOP_SECONDS,
        check=False,
    )
    assert done.returncode != 0
    message = done.stderr.decode() + done.stdout.decode()
    assert "conventions" in message
    assert "Traceback" not in message
    assert all(word in message for word in words), message
