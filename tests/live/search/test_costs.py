"""Costs of traces over HTTP: reported costs and configured prices, in previews, filters, orders and aggregations."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import export_request
from support.services.process import STOP_SECONDS, RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
PRICES = {"as_of": "2026-11-01", "prices": [{"model": "house-*", "input": 2, "cached": 0.5, "output": 8}]}
LLM = {"openinference.span.kind": "LLM"}
TOKENS = {"llm.token_count.prompt": "1000", "llm.token_count.completion": "100"}
CALLS = {
    "reported": {**LLM, **TOKENS, "llm.model_name": "unheard-of", "gen_ai.usage.cost": "0.5"},
    "priced": {**LLM, **TOKENS, "llm.model_name": "acme/house-1", "llm.token_count.prompt_details.cache_read": "400"},
    "built-in": {**LLM, **TOKENS, "llm.model_name": "gpt-4o-2024-08-06"},
    "unknown": {**LLM, **TOKENS, "llm.model_name": "unheard-of"},
}
DOLLARS = {"reported": 0.5, "priced": 0.0022, "built-in": 0.0035}


def sent(number: int, attributes: dict[str, str]) -> bytes:
    """Returns the export of a trace with one model call, and a child span that is not a model call."""
    exported = json.loads(export_request(f"{number:032x}", "a" * 16, "b" * 16, **attributes))
    for span in exported["resourceSpans"][0]["scopeSpans"][0]["spans"][1:]:
        span["attributes"] = []
    return json.dumps(exported).encode()


@pytest.fixture(scope="module", params=["head", "sealed"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service whose traces are in the head or, after a restart, in a segment."""
    folder: Path = tmp_path_factory.mktemp("costs")
    prices = folder / "prices.json"
    prices.write_text(json.dumps(PRICES), "utf-8")
    arguments = (folder / "data", "--prices-file", str(prices))
    with RunningService(*arguments) as running:
        for number, attributes in enumerate(CALLS.values(), 1):
            running.http.post("/v1/traces", content=sent(number, attributes), headers=JSON).raise_for_status()
        if request.param == "head":
            yield running
            return
        assert running.stop() == 0
    seal = [sys.executable, "-m", "spanwise", "compact", str(folder / "data")]
    subprocess.run(seal, check=True, timeout=STOP_SECONDS, capture_output=True)
    with RunningService(*arguments) as running:
        indexed(running)
        yield running


def indexed(service: RunningService) -> None:
    """Waits until every segment has its indexes."""
    waiting = re.compile(rb"^spanwise_store_segments_without_\w+\{[^}]*\} [1-9]", re.MULTILINE)
    deadline = time.monotonic() + STOP_SECONDS
    while waiting.search(service.http.get("/metrics").content):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def names(service: RunningService, **body: object) -> list[str]:
    """Returns the names of the traces that a search finds, in its order."""
    by_id = {f"{number:032x}": name for number, name in enumerate(CALLS, 1)}
    return [by_id[trace["trace_id"]] for trace in service.items(detail="summary", **body)]


def test_a_trace_has_its_cost_or_what_is_known_of_it(service: RunningService) -> None:
    previews = service.items(detail="summary")
    shown = {trace["trace_id"]: (trace.get("cost"), trace.get("cost_partial")) for trace in previews}
    partial_costs = {"unknown": 0}
    expected = {f"{number:032x}": (DOLLARS.get(name), partial_costs.get(name)) for number, name in enumerate(CALLS, 1)}
    assert shown == expected
    for trace_id, (cost, partial) in expected.items():
        skeleton = service.http.get(f"/traces/{trace_id}", params={"detail": "skeleton"}).raise_for_status().json()
        assert (skeleton.get("cost"), skeleton.get("cost_partial")) == (cost, partial)
        detail = service.http.get(f"/traces/{trace_id}").raise_for_status().json()
        assert (detail.get("cost"), detail.get("cost_partial")) == (cost, partial)


SOURCES = {"reported": "reported", "priced": "computed", "built-in": "computed", "unknown": "unpriced"}


@pytest.mark.parametrize("name", CALLS)
def test_a_span_shows_what_it_adds(service: RunningService, name: str) -> None:
    address = f"/traces/{list(CALLS).index(name) + 1:032x}"
    detail = service.http.get(address).raise_for_status().json()
    (call,) = detail["tree"]
    (child,) = call["spans"]
    assert (call.get("cost"), call["cost_source"]) == (DOLLARS.get(name), SOURCES[name])
    assert "cost_source" not in child
    skeleton = service.http.get(address, params={"detail": "skeleton"}).raise_for_status().json()
    assert skeleton["spans"]["cost"] == [DOLLARS.get(name), 0]
    span = service.http.get(address, params={"span_id": call["id"]}).raise_for_status().json()
    known = {"cost": DOLLARS[name]} if name in DOLLARS else {"cost_partial": 0}
    cached = 400 if name == "priced" else 0
    tokens = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": cached, "reasoning_tokens": 0}
    assert span["subtree"] == {**tokens, **known}
    prices = {"priced": {"model": "house-*", "input": 2, "cached": 0.5, "output": 8, "reasoning": 8}}
    shown = span.get("price", {})
    assert (shown.get("as_of") is not None) == (SOURCES[name] == "computed")
    assert {**shown, **prices.get(name, {})} == shown


def test_filters_and_orders_know_costs(service: RunningService) -> None:
    above = {"op": "GTE", "key": "cost", "value": 0.0035}
    assert set(names(service, filter=above)) == {"reported", "built-in"}
    # An unknown cost is neither above nor below.
    assert names(service, filter={"op": "NOT", "condition": above}) == ["priced"]
    assert names(service, filter={"op": "EQ", "key": "cost_partial", "value": 0}) == ["unknown"]
    ordered = ["reported", "built-in", "priced", "unknown"]
    assert names(service, sort={"key": "cost"}) == ordered
    assert names(service, sort={"key": "cost", "ascending": True}) == [*ordered[2::-1], "unknown"]
    reports = {"op": "SPAN", "where": {"op": "EQ", "key": "cost", "value": 0.5}}
    assert names(service, filter=reports) == ["reported"]


def test_aggregations_sum_what_is_known(service: RunningService) -> None:
    measures = [
        {"name": "cost", "op": "SUM", "key": "cost"},
        {"name": "known", "op": "SUM", "key": "cost_partial"},
        {"name": "most", "op": "MAX", "key": "cost"},
        {"name": "bins", "op": "HISTOGRAM", "key": "cost", "bins": 2, "range": [0, 0.6]},
    ]
    response = service.http.post("/traces/aggregate", json={"measures": measures}).raise_for_status().json()
    (group,) = response["data"]["groups"]
    assert group["total"] == {"cost": pytest.approx(0.5057), "known": 0, "most": 0.5}
    assert group["histograms"]["bins"] == {"edges": [0, 0.3, 0.6], "counts": [2, 1], "below": 0, "above": 0}


def test_calls_are_counted_by_model(service: RunningService) -> None:
    measures = [
        {"name": "calls", "op": "COUNT"},
        {"name": "tokens", "op": "SUM", "key": "total_tokens"},
        {"name": "cost", "op": "SUM", "key": "cost"},
        {"name": "known", "op": "SUM", "key": "cost_partial"},
    ]
    body = {"by": [{"key": "model", "limit": 2}], "measures": measures}
    data = service.http.post("/traces/aggregate", json=body).raise_for_status().json()["data"]
    unheard, acme = data["groups"]
    assert unheard["by"] == {"model": "unheard-of"}
    assert unheard["total"] == {"calls": 2, "tokens": 2200, "cost": None, "known": 0.5}
    assert acme["by"] == {"model": "acme/house-1"}
    assert acme["total"] == {"calls": 1, "tokens": 1100, "cost": 0.0022, "known": None}
    assert data["other"]["total"] == {"calls": 1, "tokens": 1100, "cost": 0.0035, "known": None}
    assert data["groups_total"] == 3


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"by": [{"key": "model"}, {"key": "name"}]}, "$.by[0].key"),
        ({"measures": [{"name": "m", "op": "AVG", "key": "cost"}]}, "$.measures[0]"),
        ({"measures": [{"name": "m", "op": "SUM", "key": "duration_ms"}]}, "$.measures[0]"),
        ({"by": [{"key": "model", "limit": 0}]}, "$.by[0].limit"),
    ],
)
def test_calls_have_counts_and_sums_alone(service: RunningService, change: dict[str, Any], place: str) -> None:
    body = {"by": [{"key": "model"}], "measures": [{"name": "calls", "op": "COUNT"}], **change}
    response = service.http.post("/traces/aggregate", json=body)
    assert response.status_code == 422
    assert f"`{place}`" in response.json()["detail"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"as_of": "2026-11-01", "prices": [{"model": "m", "input": -1, "output": 1}]}', "$.prices[0].input"),
        (None, "No such file"),
    ],
)
def test_prices_that_are_no_table_are_an_error_at_start(content: str | None, words: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    if content is not None:
        prices.write_text(content, "utf-8")
    serve = ["serve", "--data-dir", str(tmp_path / "data"), "--port", "1", "--prices-file", str(prices)]
    done = subprocess.run(
        [sys.executable, "-m", "spanwise", *serve], capture_output=True, timeout=STOP_SECONDS, check=False
    )
    assert done.returncode != 0
    message = done.stderr.decode() + done.stdout.decode()
    assert "prices_file" in message
    assert words in message
    assert "Traceback" not in message
