"""The clients against a real service: their results match its pages, load on demand, and raise its errors."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest

import spanwise
from spanwise import F, Filter, S, TraceStore, errors, time_range
from spanwise._engine import trace_schema
from spanwise.api.traces import TraceDetail
from spanwise.client import arrow
from spanwise.client.expressions import encoded
from spanwise.client.search_spec import FULL_PAGE
from support.clients.made_up_trace import MadeUpTrace
from support.clients.otlp import captures
from support.clients.tokens import claims, jwks_file, signing_key
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from spanwise import AsyncClient, Client
    from spanwise.api.spans import TraceNode
    from spanwise.client.async_client import AsyncSearch
    from spanwise.client.expressions import FilterLike
    from spanwise.client.sync_client import Search

FILTERS: dict[str, FilterLike] = {
    "all": None,
    "failed": F.status == "ERROR",
    "and": F.name.contains("agent") & (F.duration_ms > 100),
    "dict": {"op": "EXISTS", "key": "user_id"},
    "text": '{"op": "NOT", "condition": {"op": "EXISTS", "key": "session_id"}}',
    "spans": F.span(S.type == "TOOL", at_least=2),
    "nothing": F.name == "no such name",
}
MEASURES = {
    "runs": F.count(),
    "failures": F.count(where=F.status == "ERROR"),
    "p95": F.duration_ms.quantile(0.95),
    "tokens": F.total_tokens.sum(),
    "users": F.user_id.count_distinct(),
    "durations": F.duration_ms.histogram(8, scale="log"),
}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("client") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


@pytest.fixture(scope="module")
def client(captured: RunningService) -> Iterator[Client]:
    with spanwise.connect(captured.url) as client:
        yield client


def as_json(items: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(list(items)))
    return found


def source_of(filter_: FilterLike) -> Any:
    return msgspec.json.decode(encoded(filter_))


@pytest.mark.parametrize("case", FILTERS)
def test_a_search_returns_what_the_pages_of_the_service_show(
    captured: RunningService, client: Client, case: str
) -> None:
    search, source = client.search(FILTERS[case]), source_of(FILTERS[case])
    shown = captured.items(filter=source)
    assert [trace.trace_id for trace in search.traces()] == [trace["trace_id"] for trace in shown]
    assert as_json(search.traces()) == as_json(msgspec.convert(shown, list[TraceDetail]))
    summaries = captured.items(filter=source, detail="summary")
    assert [trace.trace_id for trace in search.traces("summary")] == [trace["trace_id"] for trace in summaries]
    sessions = captured.items(filter=source, group_by="session")
    assert [session.session_id for session in search.sessions()] == [session["session_id"] for session in sessions]
    assert search.count() == len(shown)
    assert len(shown) > FULL_PAGE or case != "all"


@pytest.mark.parametrize("key", ["start_time", "duration_ms", "total_tokens", "cost"])
@pytest.mark.parametrize("ascending", [False, True])
def test_every_order_shows_every_trace_once(
    captured: RunningService, client: Client, key: Any, *, ascending: bool
) -> None:
    found = [trace.trace_id for trace in client.search(sort=key, ascending=ascending).traces("summary")]
    assert found == captured.trace_ids(detail="summary", sort={"key": key, "ascending": ascending})


def test_traces_of_one_instant_are_all_there(start: Callable[..., RunningService]) -> None:
    service = start()
    for _ in range(45):
        trace = MadeUpTrace()
        trace.add("same start", "AGENT")
        trace.send(service.http)
    with spanwise.connect(service.url) as client:
        for ascending in (False, True):
            found = [trace.trace_id for trace in client.search(ascending=ascending).traces()]
            assert len(found) == 45
            assert found == sorted(set(found))


def test_pages_are_fetched_as_they_are_needed_and_are_not_moved_by_what_arrives(
    start: Callable[..., RunningService],
) -> None:
    service = start()

    def send(count: int, at: float) -> None:
        for number in range(count):
            trace = MadeUpTrace()
            trace.add("agent", "AGENT", start=at + number)
            trace.send(service.http)

    send(50, 0)
    before = service.trace_ids()
    with spanwise.connect(service.url) as client:
        traces = client.search().traces()
        first = [trace.trace_id for trace in itertools.islice(traces, FULL_PAGE)]
        send(30, 1_000)
        assert first + [trace.trace_id for trace in traces] == before
        assert client.search().count() == 80


@pytest.mark.parametrize("case", FILTERS)
def test_a_table_has_the_rows_of_the_store(captured: RunningService, client: Client, case: str) -> None:
    table = client.search(FILTERS[case]).to_arrow()
    store = TraceStore.open_read_only(str(captured.data_dir / "traces"))
    rows = pa.RecordBatchReader.from_stream(store.scan(Filter.compile(encoded(FILTERS[case])))).read_all()
    columns = [field.name for field in pa.schema(trace_schema())]
    by_id = {row["trace_id"]: row for row in table.select(columns).to_pylist()}
    assert by_id == {row["trace_id"]: row for row in rows.select(columns).to_pylist()}
    assert set(arrow.schema().names) - set(columns) == {"cost", "cost_partial"}


def test_a_filter_finds_the_same_rows_in_a_table(client: Client) -> None:
    table = client.search().to_arrow()
    condition = F.name.contains("agent") & (F.duration_ms > 100) & ~(F.status == "ERROR")
    mask = pa.chunked_array(Filter.compile(condition).mask(table))
    found = [trace.trace_id for trace in client.search(condition).traces("summary")]
    assert table.filter(mask).column("trace_id").to_pylist() == found
    assert found


def test_an_aggregation_is_that_of_the_service(captured: RunningService, client: Client) -> None:
    numbers = client.search(F.total_spans > 1).aggregate(MEASURES, by=["status"], time=time_range(6))
    body = {
        "filter": {"op": "GT", "key": "total_spans", "value": 1},
        "by": [{"key": "status"}],
        "time": {"buckets": 6},
        "measures": [
            {"name": "runs", "op": "COUNT"},
            {"name": "failures", "op": "COUNT", "where": {"op": "EQ", "key": "status", "value": "ERROR"}},
            {"name": "p95", "op": "QUANTILE", "key": "duration_ms", "q": 0.95},
            {"name": "tokens", "op": "SUM", "key": "total_tokens"},
            {"name": "users", "op": "COUNT_DISTINCT", "key": "user_id"},
            {"name": "durations", "op": "HISTOGRAM", "key": "duration_ms", "bins": 8, "scale": "log"},
        ],
    }
    expected = captured.http.post("/traces/aggregate", json=body).raise_for_status().json()["data"]
    assert msgspec.json.decode(msgspec.json.encode(numbers)) == expected
    assert sum(group.total["runs"] or 0 for group in numbers.groups) == client.search(F.total_spans > 1).count()


def test_spans_are_those_of_a_span_search(captured: RunningService, client: Client) -> None:
    found = list(client.search(F.status == "OK").spans(S.type == "LLM"))
    trees = captured.items(filter={"op": "EQ", "key": "status", "value": "OK"})
    assert [span.span_id for span in found] == [
        node["id"] for trace in trees for node in spans_of(trace["tree"]) if node["type"] == "LLM"
    ]
    assert len(found) > 100


def spans_of(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from spans_of(node.get("spans", []))


def test_matches_show_what_made_a_filter_match(client: Client) -> None:
    trace = next(client.search(F.span(S.type == "TOOL", name="tool")).traces("summary", matches=True))
    assert isinstance(trace.matches, msgspec.Struct)
    assert trace.matches.spans["tool"].count >= 1


def test_matches_show_what_made_a_condition_true_of_a_span(client: Client) -> None:
    where = (S.type == "TOOL") & S.parent(S.type == "AGENT", name="caller")
    [plain, *_] = client.search().spans(where)
    [span, *_] = client.search().spans(where, matches=True)
    assert plain.matches is msgspec.UNSET
    assert isinstance(span.matches, msgspec.Struct)
    assert span.matches.spans["caller"].span_ids == [parent_of(client.trace(span.trace_id).tree, span.span_id)]


def parent_of(nodes: list[TraceNode], span_id: str) -> str | None:
    for node in nodes:
        children = node.spans or []
        found = node.id if any(child.id == span_id for child in children) else parent_of(children, span_id)
        if found:
            return found
    return None


def test_one_trace_has_its_tree_and_an_unknown_one_is_not_found(client: Client) -> None:
    trace = next(client.search().traces())
    assert client.trace(trace.trace_id) == trace
    with pytest.raises(errors.NotFoundError) as missing:
        client.trace("no/such id")
    assert (missing.value.status, missing.value.error_code) == (404, "NOT_FOUND")
    assert missing.value.__notes__[0].startswith("X-Request-ID: ")


def test_pages_that_are_too_large_are_fetched_in_smaller_ones(start: Callable[..., RunningService]) -> None:
    service = start("--page-buffer-bytes", "4194304")
    for number in range(12):
        trace = MadeUpTrace()
        trace.add(f"agent {number}", "AGENT", start=number, attributes={"input.value": f"{number} " * 300_000})
        trace.send(service.http)
    with spanwise.connect(service.url) as client:
        for sort in ("start_time", "total_spans"):
            names = [trace.name for trace in client.search(sort=sort).traces()]
            assert names == [f"agent {number}" for number in reversed(range(12))]


@pytest.mark.parametrize(
    ("ask", "raised", "says"),
    [
        (lambda client: client.search({"op": "GTT"}).count(), errors.FilterError, "unknown operator `GTT` - at `$.op`"),
        (lambda client: list(client.search("[]").traces()), errors.ValidationError, "Expected"),
        (lambda client: list(client.search().spans(F.span(S.depth > 1))), errors.FilterError, "SPAN"),
        (lambda client: client.search().aggregate({}), errors.ValidationError, "Expected"),
        (lambda client: client.search().aggregate({"x": F.count()}, by=["cost"]), errors.ValidationError, "cost"),
    ],
    ids=["filter", "shape", "spans", "no measures", "group"],
)
def test_an_error_of_the_service_is_an_exception_of_its_kind(
    client: Client, ask: Callable[[Client], object], raised: type[errors.SpanwiseError], says: str
) -> None:
    with pytest.raises(raised) as error:
        ask(client)
    assert says in str(error.value)
    assert (error.value.status, error.value.error_code) == (raised.status, raised.error_code)


def test_a_token_is_needed_where_the_service_authorizes(start: Callable[..., RunningService], tmp_path: Path) -> None:
    service = start("--authorization", JWT_JWKS_FILE=jwks_file(tmp_path))
    token = signing_key().sign(claims("ann", "traces:read"))
    with spanwise.connect(service.url, token) as client:
        assert client.search().count() == 0
    with spanwise.connect(service.url) as client, pytest.raises(errors.UnauthenticatedError):
        client.search().count()
    useless = signing_key().sign(claims("ann", "sessions:read"))
    with spanwise.connect(service.url, useless) as client, pytest.raises(errors.ForbiddenError):
        client.search().count()


def test_a_database_is_chosen_by_its_id(captured: RunningService) -> None:
    with spanwise.connect(captured.url, db_id="no such store") as client, pytest.raises(errors.NotFoundError):
        client.search().count()


def test_no_service_and_another_program_are_told_apart(captured: RunningService) -> None:
    with (
        spanwise.connect(f"http://127.0.0.1:{free_port()}") as client,
        pytest.raises(errors.UnreachableError, match="no response from http"),
    ):
        client.search().count()
    with spanwise.connect(f"{captured.url}/docs") as client, pytest.raises(errors.NotFoundError):
        client.search().count()
    with pytest.raises(errors.ConfigurationError, match="expected an address like"):
        spanwise.connect("127.0.0.1:7777")


async def everything(client: AsyncClient, search: AsyncSearch) -> list[Any]:
    return [
        await search.count(),
        [trace async for trace in search.traces()],
        [trace async for trace in search.traces("summary")],
        [session async for session in search.sessions()],
        [span async for span in search.spans(S.type == "TOOL")],
        [span async for span in search.spans(S.input.contains("a"), matches=True)],
        await search.aggregate(MEASURES, by=["agent_id"]),
        await search.to_arrow(),
        await client.trace((await anext(search.traces("summary"))).trace_id),
    ]


def everything_blocking(client: Client, search: Search) -> list[Any]:
    return [
        search.count(),
        list(search.traces()),
        list(search.traces("summary")),
        list(search.sessions()),
        list(search.spans(S.type == "TOOL")),
        list(search.spans(S.input.contains("a"), matches=True)),
        search.aggregate(MEASURES, by=["agent_id"]),
        search.to_arrow(),
        client.trace(next(search.traces("summary")).trace_id),
    ]


@pytest.mark.parametrize("case", ["all", "failed", "spans"])
def test_both_clients_find_the_same(captured: RunningService, client: Client, case: str) -> None:
    async def found() -> list[Any]:
        async with spanwise.connect_async(captured.url) as other:
            return await everything(other, other.search(FILTERS[case], sort="duration_ms"))

    assert asyncio.run(found()) == everything_blocking(client, client.search(FILTERS[case], sort="duration_ms"))


def test_both_clients_raise_the_same(captured: RunningService) -> None:
    async def ask(url: str, filter_: FilterLike) -> None:
        async with spanwise.connect_async(url) as client:
            await client.search(filter_).count()

    with pytest.raises(errors.FilterError, match="unknown operator"):
        asyncio.run(ask(captured.url, {"op": "GTT"}))
    with pytest.raises(errors.UnreachableError):
        asyncio.run(ask(f"http://127.0.0.1:{free_port()}", None))
