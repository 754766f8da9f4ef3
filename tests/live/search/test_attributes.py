"""Attribute keys over HTTP: the keys, their trace counts, and rejected requests."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

FAILED = {"op": "EQ", "key": "status", "value": "ERROR"}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("attributes") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


def ask(service: RunningService, **query: object) -> httpx.Response:
    params = {name: value if isinstance(value, str) else json.dumps(value) for name, value in query.items()}
    return service.http.get("/traces/attributes", params=params)


def keys(service: RunningService, **query: object) -> tuple[dict[str, int], dict[str, Any]]:
    found = ask(service, **query).raise_for_status().json()
    return {item["key"]: item["count"] for item in found["data"]}, found["meta"]


def total(service: RunningService, condition: object) -> int:
    body = {"filter": condition, "limit": 1}
    return int(service.http.post("/traces/search", json=body).raise_for_status().json()["meta"]["total_count"])


@pytest.mark.parametrize("condition", [None, FAILED])
def test_every_key_that_is_listed_is_found_in_as_many_traces(captured: RunningService, condition: object) -> None:
    found, meta = keys(captured, limit=1000, **({} if condition is None else {"filter": condition}))
    assert len(found) == meta["distinct"] > 10
    assert meta["matched"] == total(captured, condition)
    assert meta["uncounted"] == 0
    for key in list(found)[::7]:
        has_it = {"op": "SPAN", "where": {"op": "EXISTS", "key": key}}
        asked = has_it if condition is None else {"op": "AND", "conditions": [condition, has_it]}
        assert total(captured, asked) == found[key], key


def test_a_prefix_and_a_limit_narrow_what_is_listed(captured: RunningService) -> None:
    everything, _ = keys(captured, limit=1000)
    resource, meta = keys(captured, prefix="resource.", limit=1000)
    assert resource == {key: count for key, count in everything.items() if key.startswith("resource.")}
    assert len(resource) == meta["distinct"] > 1
    first, meta = keys(captured, limit=3)
    assert list(first.items()) == sorted(Counter(everything).items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    assert meta["distinct"] == len(everything)


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ({"limit": "0"}, 422, "Expected `int` >= 1 - at `limit`"),
        ({"limit": "1001"}, 422, "Expected `int` <= 1000 - at `limit`"),
        ({"prefix": "a" * 1101}, 422, "Expected `str` of length <= 1100 - at `prefix`"),
        ({"filter": "{"}, 400, "invalid JSON: "),
        ({"filter": '{"op": "GTT"}'}, 400, "unknown operator `GTT`"),
    ],
)
def test_a_wrong_parameter_is_rejected_with_its_place(
    captured: RunningService, query: dict[str, str], status: int, text: str
) -> None:
    response = ask(captured, **query)
    assert (response.status_code, response.json()["detail"][: len(text)]) == (status, text)
