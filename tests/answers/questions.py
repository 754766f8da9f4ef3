"""Seeded requests of every kind, by an administrator and by callers that see only their own traces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from answers.application import ADMIN, WITHOUT_SCOPES, Request
from answers.conditions import Conditions
from answers.invalid import INVALID_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from answers.survey import Survey

_CALLERS = {ADMIN: 16, "alice": 6, "bob": 3, "Ünal": 1, "dave@example.com": 1, "nobody": 1}
_SORT_KEYS = (
    "start_time",
    "duration_ms",
    "total_spans",
    "error_count",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "llm_calls",
    "tool_calls",
    "cost",
    "cost_partial",
)
_PAGES = (*(1,) * 22, *(2,) * 4, 3, 3, 5, 9, 40, 900)
_LIMITS = (1, 2, 5, 5, 7, 10, 20, 20, 20, 50, 100)
_FORMATS = ("ndjson", "ndjson", "parquet", "arrow", "otlp")
_TIMES = ("2026-09-21T14:00:00Z", "2026-09-21T20:00:00.5+02:00", "2026-09-22", "2026-09-24T00:00:00Z")


class Questions:
    """Draws requests. The same seed and survey give the same requests."""

    def __init__(self, draw: Random, survey: Survey) -> None:
        self._draw = draw
        self._survey = survey
        self._conditions = Conditions(draw, survey)
        self._fields = [field.key for field in survey.fields if field.type in {"enum", "string"}]
        self._fields.remove("trace_id")
        self._numbers = [field.key for field in survey.fields if field.type == "number"]
        self._damaged = [trace for trace in survey.traces if trace.is_damaged]
        kinds: dict[Callable[[], Request], int] = {
            self._runs: 26,
            self._newest: 12,
            self._matches: 10,
            self._sessions: 8,
            self._spans: 13,
            self._aggregate: 9,
            self._facets: 7,
            self._attribute_keys: 2,
            self._list: 3,
            self._session_list: 2,
            self._single: 6,
            self._dry_run: 2,
            self._export: 2,
            self._invalid: 3,
        }
        self._kinds, self._weights = list(kinds), list(kinds.values())
        self._earlier: list[Request] = []

    def draw(self, count: int) -> Iterator[Request]:
        """Yields requests. One in eight asks for another page of an earlier one."""
        for _ in range(count):
            if self._earlier and self._draw.randrange(8) == 0:
                yield self._another_page(self._draw.choice(self._earlier))
                continue
            request = self._draw.choices(self._kinds, self._weights)[0]()
            if request.method == "POST" and request.kind not in {"invalid", "delete"} and '"page"' in request.body:
                self._earlier = [*self._earlier[-20:], request]
            yield request

    def _another_page(self, request: Request) -> Request:
        body = json.loads(request.body)
        body["page"] = self._draw.choice((body["page"] + 1, body["page"] + 2, 1, 2, 12))
        return Request(request.kind, request.caller, request.method, request.target, _json(body))

    def _runs(self) -> Request:
        body = {"filter": self._conditions.filter(), **self._page(), "detail": self._detail()}
        if self._draw.randrange(2):
            body["sort"] = {"key": self._draw.choice(_SORT_KEYS), "ascending": self._draw.randrange(2) == 0}
        return self._post("runs", "/traces/search", body)

    def _newest(self) -> Request:
        body = {"filter": self._conditions.contents_filter(), **self._page(), "total": "at_least"}
        return self._post("runs at_least", "/traces/search", body | {"detail": self._detail()})

    def _matches(self) -> Request:
        body = {"filter": self._conditions.contents_filter(), **self._page(), "matches": True, "detail": self._detail()}
        if self._draw.randrange(4) == 0:
            body["total"] = "at_least"
        elif self._draw.randrange(3) == 0:
            body["sort"] = {"key": self._draw.choice(_SORT_KEYS)}
        return self._post("runs with matches", "/traces/search", body)

    def _sessions(self) -> Request:
        return self._post(
            "sessions", "/traces/search", {"filter": self._conditions.filter(), **self._page(), "group_by": "session"}
        )

    def _spans(self) -> Request:
        body: dict[str, Any] = {"filter": self._conditions.span_filter(), **self._page()}
        if self._draw.randrange(2):
            body["traces"] = self._conditions.filter()
        if self._draw.randrange(2):
            body["total"] = self._draw.choice(("exact", "at_least"))
        if self._draw.randrange(3) == 0:
            body["matches"] = True
        return self._post("spans", "/spans/search", body)

    def _aggregate(self) -> Request:
        draw = self._draw
        body: dict[str, Any] = {"filter": self._conditions.filter()}
        if draw.randrange(7) == 0:
            measures = [
                {"name": key or "calls", "op": "SUM", "key": key} if key else {"name": "calls", "op": "COUNT"}
                for key in ("", *draw.sample(("input_tokens", "total_tokens", "cost", "cost_partial"), 2))
            ]
            body |= {"by": [{"key": "model", "limit": draw.choice((2, 20))}], "measures": measures}
        else:
            body["measures"] = [self._measure(number) for number in range(draw.choice((1, 1, 2, 3, 5)))]
            if draw.randrange(3):
                fields = draw.sample(self._fields, draw.choice((1, 1, 2)))
                body["by"] = [{"key": key, "limit": draw.choice((1, 3, 10))} for key in fields]
        if draw.randrange(3) == 0:
            body["time"] = {"buckets": draw.choice((1, 7, 40))}
            if draw.randrange(2):
                body["time"] |= dict(zip(("from", "to"), sorted(draw.sample(_TIMES, 2)), strict=True))
        return self._post("aggregate", "/traces/aggregate", body)

    def _measure(self, number: int) -> dict[str, Any]:
        draw = self._draw
        op = draw.choice(("COUNT", "COUNT_DISTINCT", "SUM", "AVG", "MIN", "MAX", "QUANTILE", "HISTOGRAM"))
        measure: dict[str, Any] = {"name": f"m{number}", "op": op}
        if op != "COUNT":
            measure["key"] = draw.choice(self._fields if op == "COUNT_DISTINCT" else self._numbers)
        if op == "QUANTILE":
            measure["q"] = draw.choice((0, 0.25, 0.5, 0.99, 1))
        if op == "HISTOGRAM":
            measure |= {"bins": draw.choice((1, 5, 20)), "scale": draw.choice(("log", "linear"))}
            if draw.randrange(3) == 0:
                measure["range"] = [0, draw.choice((10, 1_000))]
        if draw.randrange(3) == 0:
            measure["where"] = self._conditions.filter()
        return measure

    def _facets(self) -> Request:
        fields = self._draw.sample(self._fields, self._draw.choice((1, 2, 4, len(self._fields))))
        body: dict[str, Any] = {"filter": self._conditions.filter(), "fields": fields}
        body["limit"] = self._draw.choice((1, 3, 20, 100))
        if self._draw.randrange(3) == 0:
            field = self._draw.choice(fields)
            body["prefix"] = {"field": field, "text": self._conditions.text(field)[: self._draw.randrange(1, 5)]}
        if self._draw.randrange(3) == 0:
            own = [
                {"op": "EQ", "key": field, "value": self._conditions.text(field)}
                for field in fields
                if field != "status"
            ]
            conditions = [condition for condition in (*own[:1], body["filter"]) if condition]
            body |= {"exclude_own": True}
            if conditions:
                body["filter"] = {"op": "AND", "conditions": conditions}
        return self._post("facets", "/traces/facets", body)

    def _attribute_keys(self) -> Request:
        query: dict[str, Any] = {"limit": self._draw.choice((3, 100, 1_000))}
        if self._draw.randrange(2):
            query["filter"] = _json(self._conditions.filter())
        if self._draw.randrange(2):
            query["prefix"] = self._draw.choice(("attributes.", "resource.", "attributes.llm", "attributes.t", "x"))
        return self._get("attributes", "/traces/attributes", query)

    def _list(self) -> Request:
        return self._get("list of traces", "/traces", self._list_query(("run_id", "session_id", "status")))

    def _session_list(self) -> Request:
        return self._get("list of sessions", "/trace_session_stats", self._list_query(()))

    def _list_query(self, further: tuple[str, ...]) -> dict[str, Any]:
        query: dict[str, Any] = self._page()
        for key in self._draw.sample(
            ("user_id", "agent_id", "team_id", "workflow_id", *further), self._draw.choice((0, 1, 1, 1, 2))
        ):
            query[key] = self._draw.choice(("OK", "error")) if key == "status" else self._conditions.text(key)
        for key in ("start_time", "end_time"):
            if self._draw.randrange(4) == 0:
                query[key] = self._conditions.text(key)
        return query

    def _single(self) -> Request:
        draw = self._draw
        # A third are of damaged traces, if there are any.
        trace = draw.choice(self._damaged if self._damaged and draw.randrange(3) == 0 else self._survey.traces)
        query: dict[str, Any] = {}
        kind = draw.randrange(6)
        if kind == 1:
            query = {"detail": draw.choice(("full", "skeleton"))}
        elif kind == 2:
            query = {"detail": "skeleton"}
        elif kind > 2:
            query = {"span_id": draw.choice(trace.spans or [f"{1:016x}"])}
            if draw.randrange(3) == 0:
                query["max_bytes"] = draw.choice((64, 100, 5_000))
            if kind == 5:
                query |= {"path": draw.choice(self._survey.paths), "from": draw.choice((0, 1, 7, 10_000))}
        target = f"/traces/{trace.trace_id}?{urlencode(query)}"
        return Request("single", ADMIN if draw.randrange(2) else self._caller(), "GET", target.rstrip("?"))

    def _dry_run(self) -> Request:
        return self._post("delete", "/traces/delete", {"filter": self._conditions.filter(), "dry_run": True})

    def _export(self) -> Request:
        query: dict[str, Any] = {"format": self._draw.choice(_FORMATS)}
        narrow = {"op": "EQ", "key": "session_id", "value": self._conditions.text("session_id")}
        own = self._conditions.filter()
        conditions = [condition for condition in (narrow if self._draw.randrange(4) else {}, own) if condition]
        if conditions:
            query["filter"] = _json({"op": "AND", "conditions": conditions})
        return self._get("export", "/traces/export", query)

    def _invalid(self) -> Request:
        method, target, content = self._draw.choice(INVALID_REQUESTS)
        caller = WITHOUT_SCOPES if self._draw.randrange(12) == 0 else self._caller()
        return Request("invalid", caller, method, target, content)

    def _page(self) -> dict[str, Any]:
        return {"page": self._draw.choice(_PAGES), "limit": self._draw.choice(_LIMITS)}

    def _detail(self) -> str:
        return self._draw.choice(("full", "summary"))

    def _caller(self) -> str:
        return self._draw.choices(list(_CALLERS), list(_CALLERS.values()))[0]

    def _post(self, kind: str, target: str, body: dict[str, Any]) -> Request:
        return Request(kind, self._caller(), "POST", target, _json(body))

    def _get(self, kind: str, target: str, query: dict[str, Any]) -> Request:
        return Request(kind, self._caller(), "GET", f"{target}?{urlencode(query)}" if query else target)


def _json(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False)
