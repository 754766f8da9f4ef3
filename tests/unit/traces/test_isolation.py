"""For any traces, caller and request, the response is a subset of the caller's own traces.

The oracle is an admin's response reduced to the caller's user id: rows, order, totals, sessions, single reads.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import AuthorizationConfig, Service, TraceStore
from support.clients.tokens import as_admin, as_caller, signing_key
from support.in_process.stores import open_sharded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

USERS = ["alice", "Alice", "alice ", "bob", "*", ""]
CALLERS = ["alice", "Alice", "bob", "*", "nobody"]
VALUES = {
    "user_id": [*USERS, "nobody"],
    "session_id": ["s1", "s2", "s3"],
    "status": ["OK", "ERROR"],
    "name": ["run", "walk"],
}
SPAN = "a" * 16
SINGLE_READS: list[dict[str, str]] = [
    {},
    {"detail": "skeleton"},
    {"span_id": SPAN},
    {"span_id": SPAN, "max_bytes": "64"},
    {"span_id": SPAN, "path": "/name"},
]
NOT_FOUND = {"Trace not found", "Span not found", "Value not found"}
LIMIT = 100


def export_of(number: int, user: str | None, session: str | None, failed: bool) -> dict[str, Any]:  # noqa: FBT001
    given = {
        "user.id": user,
        "session.id": session,
        "openinference.span.kind": "AGENT",
        f"own-{user}": "a key of its own",
    }
    return {
        "traceId": f"{number:032x}",
        "spanId": SPAN,
        "name": VALUES["name"][number % 2],
        "startTimeUnixNano": str(10**18 + number // 3 * 10**9),
        "endTimeUnixNano": str(10**18 + number * 10**9),
        "status": {"code": 2 if failed else 1},
        "attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in given.items() if value is not None
        ],
    }


def message_of(number: int) -> dict[str, Any]:
    content = {"key": "content", "value": {"stringValue": f"message {number}"}}
    return {
        "traceId": f"{number:032x}",
        "spanId": SPAN,
        "eventName": "gen_ai.user.message",
        "timeUnixNano": str(10**18),
        "body": {"kvlistValue": {"values": [content]}},
    }


ROWS = st.tuples(st.none() | st.sampled_from(USERS), st.none() | st.sampled_from(VALUES["session_id"]), st.booleans())


def condition() -> st.SearchStrategy[dict[str, Any]]:
    def leaves(key: str) -> st.SearchStrategy[dict[str, Any]]:
        value = st.sampled_from(VALUES[key])
        texts = ["CONTAINS", "STARTSWITH", "GTE"] if key != "status" else []
        return (
            st.builds(
                lambda op, value: {"op": op, "key": key, "value": value}, st.sampled_from(["EQ", "NEQ", *texts]), value
            )
            | st.builds(lambda values: {"op": "IN", "key": key, "values": values}, st.lists(value, max_size=3))
            | st.just({"op": "EXISTS", "key": key})
        )

    return st.recursive(
        st.sampled_from(sorted(VALUES)).flatmap(leaves),
        lambda inner: (
            st.builds(lambda inner: {"op": "NOT", "condition": inner}, inner)
            | st.builds(
                lambda op, inner: {"op": op, "conditions": inner},
                st.sampled_from(["AND", "OR"]),
                st.lists(inner, min_size=1, max_size=3),
            )
        ),
        max_leaves=6,
    )


@pytest.fixture(scope="module", params=[0, 3], ids=["one store", "shards"])
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], TraceStore]]:
    opened: list[Any] = []

    def new() -> TraceStore:
        folder = tmp_path_factory.mktemp("isolated")
        opened.append(open_sharded(folder, request.param) if request.param else TraceStore.open(str(folder / "traces")))
        store: TraceStore = opened[-1]
        return store

    yield new
    for store in opened:
        store.close()


async def ask(client: httpx.AsyncClient, caller: str | None, **body: object) -> dict[str, Any]:
    headers = as_caller(caller, "traces:read") if caller is not None else as_admin()
    response = await client.post("/traces/search", json={**body, "limit": LIMIT}, headers=headers)
    found: dict[str, Any] = response.raise_for_status().json()
    assert len(found["data"]) == found["meta"]["total_count"]
    return found


async def aggregated(client: httpx.AsyncClient, caller: str | None, expression: dict[str, Any]) -> dict[str, Any]:
    headers = as_caller(caller, "traces:read") if caller is not None else as_admin()
    failed = {"op": "EQ", "key": "status", "value": "ERROR"}
    body = {
        "filter": expression,
        "time": {"buckets": 5},
        "by": [{"key": "session_id", "limit": 1}, {"key": "user_id", "limit": 1}],
        "measures": [
            {"name": "count", "op": "COUNT"},
            {"name": "users", "op": "COUNT_DISTINCT", "key": "user_id", "where": failed},
            {"name": "median", "op": "QUANTILE", "key": "duration_ms", "q": 0.5},
            {"name": "durations", "op": "HISTOGRAM", "key": "duration_ms", "bins": 4},
        ],
    }
    response = await client.post("/traces/aggregate", json=body, headers=headers)
    found: dict[str, Any] = response.raise_for_status().json()
    return {**found["data"], "matched": found["meta"]["matched"]}


async def check(client: httpx.AsyncClient, caller: str, expression: dict[str, Any]) -> None:
    everything = (await ask(client, None, filter=expression))["data"]
    own = [item for item in everything if item.get("user_id") == caller]
    assert (await ask(client, caller, filter=expression))["data"] == own
    spans = {"op": "SPAN", "where": {"op": "EQ", "key": "status", "value": "ERROR"}}
    either = {"op": "OR", "conditions": [expression, spans, {"op": "CONTAINS", "key": "text", "value": "message"}]}
    seen = [(await ask(client, reader, filter=either, matches=True))["data"] for reader in (None, caller)]
    assert seen[1] == [item for item in seen[0] if item.get("user_id") == caller]
    asked = {"filter": {"op": "EXISTS", "key": "status"}, "traces": expression, "limit": LIMIT}
    pages = [
        await client.post(
            "/spans/search", json={**asked, "total": total, "matches": True}, headers=as_caller(caller, "traces:read")
        )
        for total in ("exact", "at_least")
    ]
    for page in pages:
        shown = page.raise_for_status().json()
        assert [span["trace_id"] for span in shown["data"]] == [item["trace_id"] for item in own]
        assert shown["meta"]["total_count"] == len(own)
    query = {"format": "ndjson", "filter": json.dumps(expression)}
    exported = await client.get("/traces/export", params=query, headers=as_caller(caller, "traces:read"))
    lines = {line["trace_id"]: line for line in map(json.loads, exported.raise_for_status().content.splitlines())}
    assert lines == {item["trace_id"]: item for item in own}
    query = {"filter": json.dumps(expression), "limit": "1000"}
    keys = await client.get("/traces/attributes", params=query, headers=as_caller(caller, "traces:read"))
    sent = Counter({"attributes.openinference.span.kind": len(own), f"attributes.own-{caller}": len(own)})
    sent.update(
        f"attributes.{key.replace('_', '.')}" for item in own for key in ("user_id", "session_id") if key in item
    )
    assert {each["key"]: each["count"] for each in keys.raise_for_status().json()["data"]} == +sent
    mine = {"op": "EQ", "key": "user_id", "value": caller}
    both = {"op": "AND", "conditions": [mine, expression]}
    facets = {"filter": expression, "fields": sorted(VALUES)}
    reader = as_caller(caller, "traces:read")
    counted = await client.post("/traces/facets", json=facets, headers=reader)
    for field, facet in counted.raise_for_status().json()["data"].items():
        values = Counter(item[field] for item in own if field in item)
        assert {each["value"]: each["count"] for each in facet["values"]} == values
        assert (facet["distinct"], facet["missing"]) == (len(values), len(own) - values.total())
    counted = await client.post("/traces/facets", json={**facets, "exclude_own": True}, headers=reader)
    assert {each["value"] for each in counted.json()["data"]["user_id"]["values"]} <= {caller}
    sessions = await ask(client, None, filter=both, group_by="session")
    assert await aggregated(client, caller, expression) == await aggregated(client, None, both)
    assert (await ask(client, caller, filter=expression, group_by="session"))["data"] == sessions["data"]


async def check_single(client: httpx.AsyncClient, caller: str) -> None:
    headers = as_caller(caller, "traces:read")
    bodies = set()
    for item in (await ask(client, None))["data"]:
        for query in SINGLE_READS:
            response = await client.get(f"/traces/{item['trace_id']}", params=query, headers=headers)
            assert (response.status_code == 200) == (item.get("user_id") == caller)
            if response.status_code != 200:
                assert response.status_code == 404
                bodies.add(response.content)
    assert len(bodies) <= len(NOT_FOUND)
    assert {json.loads(body)["detail"] for body in bodies} <= NOT_FOUND
    for path in ("/traces", "/trace_session_stats"):
        listed = (await client.get(path, params={"limit": LIMIT}, headers=headers)).json()["data"]
        assert all(item["user_id"] == caller for item in listed)


@given(
    st.lists(ROWS, min_size=1, max_size=40),
    st.lists(st.tuples(st.sampled_from(CALLERS), condition()), min_size=1, max_size=6),
)
@settings(max_examples=40, deadline=None)
def test_every_response_is_a_subset_of_the_callers_own(
    stores: Callable[[], TraceStore],
    rows: list[tuple[str | None, str | None, bool]],
    questions: list[tuple[str, dict[str, Any]]],
) -> None:
    async def scenario() -> None:
        store = stores()
        spans = [export_of(number, *row) for number, row in enumerate(rows, 1)]
        store.ingest(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode(), "application/json")
        # Messages change nothing, including messages of spans that never arrive.
        records = [message_of(number) for number in range(1, len(rows) + 3)]
        store.ingest_logs(
            json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode(), "application/json"
        )
        keys = AuthorizationConfig(verification_keys=[signing_key().public_text or ""])
        service = Service(traces=store, authorization=True, authorization_config=keys)
        transport = httpx.ASGITransport(service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for caller, expression in questions:
                await check(client, caller, expression)
            await check_single(client, questions[0][0])
        await service.close()

    asyncio.run(scenario())
