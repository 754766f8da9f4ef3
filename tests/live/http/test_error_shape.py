"""Every error response is JSON, `{"detail": str, "error_code": str}`, with no other member.

The status determines the code. A 503 has the seconds until a retry. Every response has a request id and forbids
caching. A rejected OTLP request gets a `google.rpc.Status` instead, in the encoding of the request.
"""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from google.rpc.status_pb2 import Status

from spanwise import errors
from spanwise.api.filters import FilterSchema
from spanwise.http.routing.table import TABLE

if TYPE_CHECKING:
    import httpx

    from support.services.process import RunningService

CODES = {
    error.status: error.error_code
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, errors.SpanwiseError)
}
JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
MEBIBYTE = 1024 * 1024
LEAKS = ("Traceback", "File ", "/tmp", "spanwise-data", "python", "panicked", ".rs")  # noqa: S108


def assert_error(response: httpx.Response, status: int) -> str:
    """Asserts the shape of an error response and returns its detail."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert body.keys() == {"detail", "error_code"}
    assert body["error_code"] == CODES[status]
    detail: str = body["detail"]
    assert detail
    assert_manners(response)
    return detail


def assert_manners(response: httpx.Response) -> None:
    assert response.headers["x-request-id"]
    assert response.headers["cache-control"] == "no-store"
    assert (response.status_code == 503) == ("retry-after" in response.headers)
    assert int(response.headers.get("retry-after", "1")) > 0
    assert not any(leak in response.text for leak in LEAKS)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} {row.path}")
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_a_method_that_is_not_in_the_table_is_405(service: RunningService, row: Any, method: str) -> None:
    path = row.path.replace("{trace_id}", "0" * 32)
    served = {other.method for other in TABLE if other.path == row.path}
    questions = ("search", "aggregate", "facets", "tail", "delete")
    as_an_id = {("GET", f"/traces/{name}") for name in questions} | {("DELETE", "/approvals/count")}
    if method in served or (method, path) in as_an_id:
        return
    response = service.http.request(method, path)
    assert assert_error(response, 405) == "Method Not Allowed"
    assert served <= set(response.headers["allow"].split(", "))


@pytest.mark.parametrize(
    "path", ["//", "/nope", "/health/", "/traces/", "/traces/a/b", "/v1/traces/", "//health", "/%00", "/info%00"]
)
def test_a_path_that_is_not_in_the_table_is_404(service: RunningService, path: str) -> None:
    assert assert_error(service.http.get(service.url + path), 404) == "Not Found"


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Original-URL", "X-Forwarded-Prefix", "X-Rewrite-URL"])
def test_no_header_changes_the_route(service: RunningService, header: str) -> None:
    assert_error(service.http.get("/nope", headers={header: "/health"}), 404)


@pytest.mark.parametrize("trace_id", ["search", "0" * 32, "f" * 32, "zz", "%2e%2e", "a" * 5000, "\N{SNOWMAN}"])
def test_an_unknown_trace_is_404_and_so_is_its_span(service: RunningService, trace_id: str) -> None:
    assert assert_error(service.http.get(f"/traces/{trace_id}"), 404) == "Trace not found"
    response = service.http.get(f"/traces/{trace_id}", params={"span_id": "0" * 16})
    assert assert_error(response, 404) == "Span not found"


@pytest.mark.parametrize("db_id", ["X", "../", "/etc", "s3://x", "' OR 1=1--", "x" * 5000])
def test_an_unknown_database_is_404(service: RunningService, db_id: str) -> None:
    expected = f"No database found with id '{db_id}'"
    for response in (
        service.http.post("/traces/search", json={}, params={"db_id": db_id}),
        service.http.post("/traces/tail", json={}, params={"db_id": db_id}),
        service.http.get("/traces/abc", params={"db_id": db_id}),
        service.http.get("/traces", params={"db_id": db_id}),
        service.http.get("/trace_session_stats", params={"db_id": db_id}),
    ):
        assert response.status_code == 404
        assert response.json() == {"detail": expected, "error_code": "NOT_FOUND"}


@pytest.mark.parametrize("db_id", ["", "default"])
def test_the_one_database_may_be_named(service: RunningService, db_id: str) -> None:
    assert service.http.post("/traces/search", json={}, params={"db_id": db_id}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b"{}{}",
        b"{} // no",
        b"[]",
        b"null",
        b'"x"',
        b"nan",
        b'{"page": NaN}',
        b"[" * MEBIBYTE,
        b'{"filter":' + b"[" * (MEBIBYTE - 10),
        b'{"page":1e400}',
    ],
    ids=lambda body: repr(body[:12]),
)
def test_an_invalid_search_is_422(service: RunningService, body: bytes) -> None:
    assert_error(service.http.post("/traces/search", content=body, headers=JSON), 422)


def test_single_quotes_are_said_to_be_the_mistake(service: RunningService) -> None:
    typed = "{'op': 'EQ', 'key': 'status', 'value': 'ERROR'}"
    body = service.http.post("/traces/search", content=f'{{"filter": {typed}}}', headers=JSON)
    assert assert_error(body, 422).endswith(": JSON has double quotes, found a single one at character 13")
    query = service.http.get("/traces/export", params={"filter": typed})
    assert assert_error(query, 400).endswith(": JSON has double quotes, found a single one at character 2 - at `$`")


@pytest.mark.parametrize(
    ("body", "error_path"),
    [
        ({"page": 0}, "$.page"),
        ({"page": "1"}, "$.page"),
        ({"page": True}, "$.page"),
        ({"limit": 101}, "$.limit"),
        ({"limit": None}, "$.limit"),
        ({"group_by": "RUN"}, "$.group_by"),
        ({"filter": []}, "$.filter"),
        ({"filter": "x"}, "$.filter"),
        ({"filter": 1}, "$.filter"),
        ({"filter": True}, "$.filter"),
    ],
)
def test_an_invalid_member_is_422_with_its_path(
    service: RunningService, body: dict[str, object], error_path: str
) -> None:
    assert assert_error(service.search(**body), 422).endswith(f"- at `{error_path}`")


@pytest.mark.parametrize("body", [{"filter": None}, {}, {"filter": {}}, {"unknown": {"user_id": "x"}}])
def test_no_filter_matches_all(service: RunningService, body: dict[str, object]) -> None:
    response = service.search(**body)
    assert response.status_code == 200
    assert response.json()["meta"].keys() == {"page", "limit", "total_pages", "total_count", "search_time_ms"}
    assert_manners(response)


@pytest.mark.parametrize("page", [2**31, 2**63, 2**70])
@pytest.mark.parametrize("group_by", ["run", "session"])
def test_a_page_beyond_the_end_is_empty(service: RunningService, page: int, group_by: str) -> None:
    response = service.search(page=page, limit=100, group_by=group_by).json()
    assert (response["data"], response["meta"]["page"]) == ([], page)


@pytest.mark.parametrize("path", ["/traces", "/trace_session_stats"])
@pytest.mark.parametrize(
    ("query", "error_path"),
    [
        ("page=0", "page"),
        ("page=x", "page"),
        ("page=", "page"),
        ("page=1&page=2", "page"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("start_time=soon", "start_time"),
        ("start_time=", "start_time"),
        ("end_time=2024-02-30", "end_time"),
        ("start_time=2024-01-01&end_time=1700000000", "end_time"),
        ("user_id=a&user_id=b", "user_id"),
    ],
)
def test_an_invalid_parameter_is_422_with_its_name(
    service: RunningService, path: str, query: str, error_path: str
) -> None:
    assert assert_error(service.http.get(f"{path}?{query}"), 422).endswith(f"- at `{error_path}`")


def test_an_unknown_status_is_422(service: RunningService) -> None:
    for status in ("UNSET", "", "null"):
        assert assert_error(service.http.get("/traces", params={"status": status}), 422).endswith("- at `status`")


def deep(levels: int) -> dict[str, Any]:
    expression: dict[str, Any] = {"op": "EQ", "key": "name", "value": "x"}
    for _ in range(levels - 1):
        expression = {"op": "NOT", "condition": expression}
    return expression


def wide(nodes: int) -> dict[str, Any]:
    return {"op": "OR", "conditions": [{"op": "EQ", "key": "name", "value": "x"}] * (nodes - 1)}


def one_of(count: int) -> dict[str, Any]:
    return {"op": "IN", "key": "name", "values": [f"{number}" for number in range(count)]}


def containing(size: int) -> dict[str, Any]:
    return {"op": "CONTAINS", "key": "name", "value": "x" * size}


@pytest.mark.parametrize(
    ("make", "largest"),
    [(deep, 32), (wide, 1024), (one_of, 10_000), (containing, 4096)],
    ids=lambda given: str(given)[:20],
)
def test_a_filter_is_accepted_up_to_its_limits_and_400_beyond(service: RunningService, make: Any, largest: int) -> None:
    assert service.search(filter=make(largest)).status_code == 200
    detail = assert_error(service.search(filter=make(largest + 1)), 400)
    assert " - at `$" in detail


@pytest.mark.parametrize(
    "expression",
    [
        {"op": "eq", "key": "name", "value": "x"},
        {"key": "name", "value": "x"},
        {"op": "EQ", "key": "damaged", "value": 1},
        {"op": "AND", "conditions": []},
        {"op": "NOT"},
        {"op": "GT", "key": "start_time", "value": "soon"},
    ],
    ids=str,
)
def test_an_invalid_expression_is_400_with_its_path(service: RunningService, expression: dict[str, object]) -> None:
    assert " - at `$" in assert_error(service.search(filter=expression), 400)


def test_a_search_that_is_not_plain_json_is_415(service: RunningService) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, PROTOBUF, {"Content-Type": "application/jsonx"}):
        assert_error(service.http.post("/traces/search", content=b"{}", headers=headers), 415)
    zipped = service.http.post(
        "/traces/search", content=gzip.compress(b"{}"), headers={**JSON, "Content-Encoding": "gzip"}
    )
    assert_error(zipped, 415)
    spelled = {"Content-Type": "Application/JSON; charset=utf-8", "Content-Encoding": "identity"}
    assert service.http.post("/traces/search", content=b"{}", headers=spelled).status_code == 200


def padded(size: int) -> bytes:
    return b"{}" + b" " * (size - 2)


def test_a_search_of_one_mebibyte_is_served_and_one_byte_more_is_413(service: RunningService) -> None:
    assert service.http.post("/traces/search", content=padded(MEBIBYTE), headers=JSON).status_code == 200
    too_large = padded(MEBIBYTE + 1)
    assert_error(service.http.post("/traces/search", content=too_large, headers=JSON), 413)
    assert_error(service.http.post("/traces/search", content=iter([too_large]), headers=JSON), 413)


def rpc_status(response: httpx.Response) -> tuple[int, str]:
    """Asserts the shape of a rejected OTLP request and returns its code and message."""
    assert_manners(response)
    if response.headers["content-type"] == "application/json":
        body = response.json()
        return body["code"], body["message"]
    assert response.headers["content-type"] == "application/x-protobuf"
    status = Status.FromString(response.content)
    return status.code, status.message


@pytest.mark.parametrize("headers", [JSON, PROTOBUF], ids=["json", "protobuf"])
@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        (None, b"\xff\xff\xff", 400),
        ("gzip", gzip.compress(b"{}" * 100)[:-12], 400),
        ("gzip", gzip.compress(b"{}")[:-8] + b"\0" * 8, 400),
        ("deflate", zlib.compress(b"{}" * 100)[:-6], 400),
        ("br", b"{}", 415),
        ("zstd", b"{}", 415),
        (None, b" " * (20 * MEBIBYTE + 1), 413),
        ("gzip", gzip.compress(b" " * (20 * MEBIBYTE + 1)), 413),
    ],
    ids=["undecodable", "truncated", "wrong checksum", "cut deflate", "br", "zstd", "too large", "bomb"],
)
def test_a_rejected_otlp_request_is_a_status_in_its_own_encoding(
    service: RunningService, headers: dict[str, str], encoding: str | None, body: bytes, status: int
) -> None:
    if encoding:
        headers = {**headers, "Content-Encoding": encoding}
    response = service.http.post("/v1/traces", content=body, headers=headers)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == headers["Content-Type"]
    code, message = rpc_status(response)
    assert code > 0
    assert message


def test_an_otlp_request_of_another_type_is_415_as_json(service: RunningService) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/grpc"}):
        assert_error(service.http.post("/v1/traces", content=b"", headers=headers), 415)


def test_one_invalid_span_in_ten_is_counted_and_the_others_are_stored(service: RunningService) -> None:
    trace_id = "beef" * 8
    spans = [
        {"traceId": trace_id, "spanId": f"{number:016x}", "name": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
        for number in range(10)  # zero is not a valid span id
    ]
    response = service.http.post("/v1/traces", json={"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    assert response.status_code == 200
    assert int(response.json()["partialSuccess"]["rejectedSpans"]) == 1
    assert response.json()["partialSuccess"]["errorMessage"]
    assert service.http.get(f"/traces/{trace_id}").json()["total_spans"] == 9


def test_a_plain_request_id_is_kept(service: RunningService) -> None:
    given = service.http.get("/health", headers={"X-Request-ID": "abc-1.2_3"})
    assert given.headers["x-request-id"] == "abc-1.2_3"
    for strange in (b"a b", b"a" * 129, b"", b"\xe9", b'"x"'):
        made = service.http.get("/health", headers={b"X-Request-ID": strange})
        assert made.headers["x-request-id"].encode("latin-1") != strange
        assert made.headers["x-request-id"].isalnum()


def test_health_reports_alive_and_ready(service: RunningService) -> None:
    for parameters in ({}, {"ready": "true"}):
        response = service.http.get("/health", params=parameters)
        assert response.status_code == 200
        assert response.json().keys() == {"status", "instantiated_at"}
        assert response.json()["instantiated_at"].endswith("Z")


def test_the_filter_schema_is_served_as_it_is_described(service: RunningService) -> None:
    response = service.http.get("/traces/filter-schema")
    assert_manners(response)
    described = msgspec.json.decode(response.content, type=FilterSchema, strict=True)
    for fields in (described.fields, described.span_fields):
        assert len({field.key for field in fields}) == len(fields) > 20
    assert len(set(described.axes)) == len(described.axes) == 7
    assert described.axis_options.keys() == set(described.axes)
    assert described.axis_options["FOLLOWED_BY"] == ["from", "scope", "same", "without"]
    assert described.axis_options["CHILD"] == []
    assert set(described.logical_operators) == {"AND", "OR", "NOT"}
    for field in described.fields:
        assert "EXISTS" in field.operators
        assert (field.type == "enum") == (field.values is not None)
        assert service.search(filter={"op": "EXISTS", "key": field.key}, limit=1).status_code == 200
