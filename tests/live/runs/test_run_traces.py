"""Traces of runs: while a run is active, after a crash, and joined to the trace of the caller."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from support.services.hosted import run, start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.services.process import RunningService

INTERRUPTED = "the service ended before the run did"


def traces_of(service: RunningService, run_id: str) -> list[dict[str, Any]]:
    return service.items(filter={"op": "EQ", "key": "run_id", "value": run_id})


def names_of(nodes: list[dict[str, Any]] | None) -> list[Any]:
    return [[node["name"], *names_of(node.get("spans"))] for node in nodes or []]


def trace_when(service: RunningService, run_id: str, spans: int) -> dict[str, Any]:
    """Waits until the trace of a run has `count` spans and returns it."""
    for _ in range(200):
        found = traces_of(service, run_id)
        if found and found[0]["total_spans"] >= spans:
            return found[0]
        time.sleep(0.05)
    raise TimeoutError(f"run {run_id} has no trace of {spans} spans")


def test_a_crash_leaves_the_trace_of_finished_spans(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as before:
        begun = run(before, "workflows/long", "Lisbon", background="true", user_id="ann", session_id="s-crash").json()
        under_way = trace_when(before, begun["run_id"], 6)
        assert (under_way["status"], under_way["user_id"], under_way["session_id"]) == ("OK", "ann", "s-crash")
        assert (under_way["workflow_id"], under_way["input"], under_way.get("output")) == ("long", "Lisbon", None)
        young = run(before, "agents/slow", "young", background="true", user_id="ann").json()
        before.kill()
    expected = [["Long.run", ["weather.run", ["weather.run", ["get_weather"]]], ["slow.run", ["slow.run"]]]]
    assert names_of(under_way["tree"]) == expected
    with start_hosted(tmp_path) as after:
        (left,) = traces_of(after, begun["run_id"])
        assert (left["trace_id"], left["status"], left["error"]) == (under_way["trace_id"], "ERROR", INTERRUPTED)
        assert (left["user_id"], left["session_id"], left["input"]) == ("ann", "s-crash", "Lisbon")
        expected[0].append(["interrupted"])
        assert names_of(left["tree"]) == expected
        assert left["tree"][0]["spans"][0]["spans"][0]["spans"][0]["output"] == "sunny"
        result = after.http.get(f"/workflows/long/runs/{begun['run_id']}").json()
        assert (result["status"], result["metadata"]["trace_id"]) == ("ERROR", left["trace_id"])
        (left,) = traces_of(after, young["run_id"])
        assert (left["status"], left["error"], left["input"]) == ("ERROR", INTERRUPTED, "young")
        assert (left["agent_id"], left["user_id"]) == ("slow", "ann")


def test_a_long_run_is_one_trace_when_it_ends(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as service:
        ended = run(service, "agents/soon", "x").json()
        (trace,) = traces_of(service, ended["run_id"])
    assert (trace["total_spans"], trace["output"]) == (1, "x done")
    assert trace["duration"].endswith("s")
    assert not trace["duration"].endswith("ms")


@pytest.fixture(scope="module")
def joining(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with start_hosted(tmp_path_factory.mktemp("joining"), "--join-callers-trace") as service:
        yield service
        assert service.stop() == 0


def calling(trace_id: str) -> Any:
    return {"traceparent": f"00-{trace_id}-{'b' * 16}-01"}


def test_a_run_joins_the_trace_of_its_caller(joining: RunningService) -> None:
    result = run(joining, "agents/weather", "x", headers=calling("a" * 32)).json()
    assert result["metadata"]["trace_id"] == "a" * 32
    (trace,) = traces_of(joining, result["run_id"])
    assert names_of(trace["tree"]) == [["Weather.run", ["get_weather"]]]
    assert "b" * 16 in json.dumps(trace["tree"][0]["extra_data"])


def test_two_runs_in_one_trace_of_a_caller_keep_their_own_spans(joining: RunningService) -> None:
    with ThreadPoolExecutor(8) as pool:

        def ask(number: int) -> Any:
            fields = {"user_id": f"u{number}", "headers": calling("c" * 32)}
            return run(joining, "agents/soon" if number % 2 else "agents/weather", str(number), **fields).json()

        results = list(pool.map(ask, range(8)))
    assert {result["metadata"]["trace_id"] for result in results} == {"c" * 32}
    trace = joining.http.get(f"/traces/{'c' * 32}").json()
    assert (len(trace["tree"]), trace["total_spans"]) == (8, 12)
    for node in trace["tree"]:
        text = json.dumps(node)
        assert f'"u{node["input"]}"' in text
        assert sum(f'"u{number}"' in text for number in range(8)) == 1


def test_a_paused_run_continues_in_its_trace(joining: RunningService) -> None:
    paused = run(joining, "agents/asking", "sure", headers=calling("d" * 32)).json()
    url = f"/agents/asking/runs/{paused['run_id']}/continue"
    form = {"tools": '[{"confirmation": "yes"}]', "stream": "false"}
    ended = joining.http.post(url, data=form, headers=calling("e" * 32)).json()
    assert ended["metadata"]["trace_id"] == "d" * 32
    (trace,) = traces_of(joining, paused["run_id"])
    assert (trace["total_spans"], trace["output"]) == (1, "sure: yes")


@pytest.mark.parametrize("given", ["", "nonsense", f"00-{'0' * 32}-{'b' * 16}-01", f"00-{'a' * 32}-{'0' * 16}-01"])
def test_an_invalid_trace_context_is_not_joined(joining: RunningService, given: str) -> None:
    result = run(joining, "agents/echo", headers={"traceparent": given}).json()  # type: ignore[arg-type]
    assert result["metadata"]["trace_id"] not in {"0" * 32, "a" * 32}
