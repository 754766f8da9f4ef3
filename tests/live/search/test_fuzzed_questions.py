"""Random bodies of searches, aggregations, facets and tails, valid and invalid. None causes an internal error."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.clients.otlp import captures
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CASES = [1_000, pytest.param(int(os.environ.get("SLOW_CASES", "100000")), marks=pytest.mark.slow)]
IDS = ("user_id", "session_id", "run_id", "agent_id", "team_id", "trace_id", "workflow_id")
TEXT_KEYS = ("status", "name", "service", *IDS)
CONTENT_KEYS = ("input", "output", "error", "text", "attributes.llm.model_name", "resource.service.name")
SPAN_KEYS = ("name", "type", "model", "tool_name", "attributes.session.id")
AXES = ("PARENT", "CHILD", "ANCESTOR", "DESCENDANT", "FOLLOWED_BY", "PRECEDED_BY", "SIBLING")
NUMBER_KEYS = ("duration_ms", "total_spans", "error_count", "input_tokens", "total_tokens", "tool_calls")
WRONG_KEYS = ("start_time", "created_at", "nope", "", "__proto__", None)
TEXTS = ("OK", "ERROR", "e", "", "\0", "\u00e9", "\U0001f600", "x" * 3_000, "2026-01-01T00:00:00Z")
INSTANTS = ("2026-01-01T00:00:00Z", "2026-12-01T00:00:00.5+02:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z")
NUMBERS = (0, 1, -1, 7, 1_000, 2**31, 2**53, 2**63 - 1, -(2**63))
WRONG_NUMBERS = (2**63, 10**30, 0.5, 1e308, "1", None)


class Bodies:
    """Draws bodies from a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def any(self) -> Any:
        scalars = [None, True, False, self._draw.choice(TEXTS), self._draw.choice(NUMBERS)]
        return self._draw.choice([*scalars, [], {}, [self._draw.choice(NUMBERS)], {"op": "EQ"}, [[]] * 3])

    def pick(self, right: Sequence[Any], wrong: Sequence[Any]) -> Any:
        """Returns one of the right values, or one time in forty a wrong one."""
        return self._draw.choice(wrong if self._draw.randrange(40) == 0 else right)

    def filter(self, depth: int = 3) -> Any:
        return self.of_spans(depth) if self._draw.randrange(6) == 0 else self.of_columns(depth)

    def of_spans(self, depth: int) -> Any:
        if self._draw.randrange(2):
            op = self.pick(["CONTAINS", "EXISTS"], ["EQ", "IN"])
            value = {"value": self.pick(TEXTS, NUMBERS)} if op == "CONTAINS" else {}
            return {"op": op, "key": self.pick(CONTENT_KEYS, WRONG_KEYS), **value}
        bounds = {"at_least": self.pick([0, 1, 2], [-1, "1"])} if self._draw.randrange(2) else {}
        return {"op": self.pick(["SPAN"], AXES), "where": self.of_span(depth), **bounds}

    def of_columns(self, depth: int) -> Any:
        kind = self._draw.randrange(10)
        if kind < 2 and depth:
            conditions = [self.filter(depth - 1) for _ in range(self.pick([1, 2, 3], [0]))]
            return {"op": self.pick(["AND", "OR"], ["XOR"]), "conditions": conditions}
        if kind == 2 and depth:
            return {"op": "NOT", "condition": self.filter(depth - 1)}
        if kind < 5:
            op = self.pick(["EQ", "NEQ", "GT", "GTE", "LT", "LTE"], ["CONTAINS", "eq", None])
            return {
                "op": op,
                "key": self.pick(NUMBER_KEYS, WRONG_KEYS),
                "value": self.pick(NUMBERS, WRONG_NUMBERS),
            }
        if kind == 5:
            values = [self.pick(TEXTS, NUMBERS) for _ in range(self.pick([1, 3], [0]))]
            return {"op": "IN", "key": self.pick(TEXT_KEYS, WRONG_KEYS), "values": values}
        if kind == 6:
            return self.pick([{}, {"op": "EXISTS", "key": self.pick(TEXT_KEYS, WRONG_KEYS)}], [self.any()])
        op = self.pick(["EQ", "NEQ", "CONTAINS", "STARTSWITH"], ["GT", "", 7])
        condition = {"op": op, "key": self.pick(TEXT_KEYS, WRONG_KEYS), "value": self.pick(TEXTS, [self.any()])}
        if op in {"CONTAINS", "STARTSWITH"} and self._draw.randrange(3) == 0:
            condition["ignore_case"] = self.pick([True, False], [None, 1])
        return condition

    def of_span(self, depth: int) -> Any:
        if depth and self._draw.randrange(3) == 0:
            return {"op": self.pick(AXES, ["SPAN", "COUSIN"]), "where": self.of_span(depth - 1), **self.option(depth)}
        if depth and self._draw.randrange(3) == 0:
            conditions = [self.of_span(depth - 1) for _ in range(self.pick([1, 2], [0]))]
            return {"op": self.pick(["AND", "OR"], ["NOT"]), "conditions": conditions}
        op = self.pick(["EQ", "NEQ", "CONTAINS", "GT"], ["", None])
        return {"op": op, "key": self.pick(SPAN_KEYS, WRONG_KEYS), "value": self.pick(TEXTS, NUMBERS)}

    def option(self, depth: int) -> dict[str, Any]:
        options = [
            {},
            {"from": self.pick(["end", "start"], ["", None])},
            {"scope": self.pick(["trace", "siblings"], ["span"])},
            {"same": self.pick([["name"], ["type", "input"]], [[], ["nope"], "name"])},
            {"without": self.of_span(depth - 1)},
        ]
        return self._draw.choice(options)

    def measure(self, number: int) -> Any:
        op = self.pick(["COUNT", "COUNT_DISTINCT", "SUM", "AVG", "MIN", "MAX", "QUANTILE", "HISTOGRAM"], ["MEDIAN"])
        measure: dict[str, Any] = {"name": f"m{self.pick([number], [0])}", "op": op}
        if op != "COUNT":
            keys = TEXT_KEYS if op == "COUNT_DISTINCT" else NUMBER_KEYS
            measure["key"] = self.pick(keys, WRONG_KEYS)
        if op == "QUANTILE":
            measure["q"] = self.pick([0, 0.5, 1], [1.5, -1, None])
        if op == "HISTOGRAM":
            measure |= {"bins": self.pick([1, 24, 1_000], [1_001, 0]), "scale": self.pick(["log", "linear"], [""])}
        if self._draw.randrange(4) == 0:
            measure["where"] = self.filter(1)
        return measure

    def aggregation(self) -> Any:
        body: dict[str, Any] = {"measures": [self.measure(number) for number in range(self.pick([1, 2, 4], [0, 17]))]}
        if self._draw.randrange(2):
            start, end = sorted((self.pick(INSTANTS, ["now"]), self.pick(INSTANTS, ["now"])))
            body["time"] = {"from": start, "to": end, "buckets": self.pick([1, 60, 1_000], [0, 1_001])}
        if self._draw.randrange(2):
            limits = (self.pick([1, 3], [0, 10_000]) for _ in range(self.pick([1, 2], [3])))
            body["by"] = [{"key": self.pick(TEXT_KEYS, WRONG_KEYS), "limit": limit} for limit in limits]
        return body | {"filter": self.filter()}

    def facets(self) -> Any:
        fields = self._draw.sample(TEXT_KEYS[:5], self.pick([1, 2, 4], [0])) + self.pick([[]], [["nope"]])
        body = {"filter": self.filter(), "fields": fields, "limit": self.pick([1, 20, 1_000], [0, 1_001])}
        if self._draw.randrange(3) == 0:
            prefix = {"field": self.pick(fields or ["name"], WRONG_KEYS), "text": self.pick(TEXTS, [None])}
            body |= {"prefix": prefix, "exclude_own": self.pick([True, False], [None])}
        return body

    def search(self) -> Any:
        return {
            "filter": self.filter(),
            "page": self.pick([1, 2, 5_000], [0, 2**63]),
            "limit": self.pick([1, 20], [101, 0]),
            "group_by": self.pick(["run", "session"], ["user"]),
            "detail": self.pick(["summary", "full"], [""]),
            "matches": self.pick([True, False], [None, "yes"]),
        }

    def spans(self) -> Any:
        return {
            "filter": self.pick([self.of_span(3), None, {}], [self.filter()]),
            "traces": self.pick([self.filter(), None], [self.any()]),
            "page": self.pick([1, 2, 5_000], [0, 2**63]),
            "limit": self.pick([1, 20], [101, 0]),
            "total": self.pick(["at_least", "exact"], ["all"]),
        }

    def tail(self) -> Any:
        # Mostly invalid, because a valid request would not end.
        return {"filter": {"op": "XOR", "key": self.any(), "value": self.filter()}, "detail": self.any()}

    def spoiled(self, body: dict[str, Any]) -> bytes:
        """Returns the JSON of a body, sometimes with a missing or replaced member, or a changed byte."""
        for name in list(body):
            kind = self._draw.randrange(60)
            if kind == 0:
                del body[name]
            elif kind == 1:
                body[name] = self.any()
        text = bytearray(json.dumps(body).encode())
        if self._draw.randrange(20) == 0:
            text[self._draw.randrange(len(text))] = self._draw.randrange(256)
        return bytes(text)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("fuzzed") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service
        assert service.stop() == 0
        assert {event["level"] for event in service.events()} <= {"info", "warning"}


@pytest.mark.parametrize("cases", CASES)
def test_no_question_is_an_error_of_the_service(filled: RunningService, cases: int) -> None:
    bodies = Bodies(seed=cases)
    kinds: list[tuple[str, Callable[[], Any]]] = [
        ("/traces/aggregate", bodies.aggregation),
        ("/traces/facets", bodies.facets),
        ("/traces/search", bodies.search),
        ("/spans/search", bodies.spans),
        ("/traces/tail", bodies.tail),
    ]
    statuses: Counter[tuple[str, int]] = Counter()
    with httpx.Client(base_url=filled.url, timeout=60) as client:
        for number in range(cases):
            path, draw = kinds[number % len(kinds)]
            body = bodies.spoiled(draw())
            with client.stream("POST", path, content=body, headers={"Content-Type": "application/json"}) as response:
                assert response.status_code < 500, (path, body, response.read())
                statuses[path, response.status_code // 100] += 1
    for path, _ in kinds:
        assert statuses[path, 4] > 0, statuses
    for path in ("/traces/aggregate", "/traces/facets", "/traces/search", "/spans/search"):
        assert statuses[path, 2] > 0, statuses
