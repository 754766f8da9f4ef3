"""Hostile search bodies are rejected with the right status and do no harm."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import export_request

if TYPE_CHECKING:
    from support.services.process import RunningService

JSON = {"Content-Type": "application/json"}
MEBIBYTE = 1024 * 1024
COLLIDING = [f"{number * (2**61 - 1)}" for number in range(20_000)]
BODIES = {
    "a mebibyte of brackets": (b"[" * MEBIBYTE, 422),
    "a mebibyte of braces": (b'{"":' * (MEBIBYTE // 4), 422),
    "brackets in a filter": (b'{"filter":' + b"[" * 1_000_000, 422),
    "many members": (json.dumps({f"m{number}": 1 for number in range(70_000)}).encode(), 200),
    "many members in a filter": (json.dumps({"filter": {f"m{number}": 1 for number in range(60_000)}}).encode(), 400),
    "one member many times": (b"{" + b'"page":1,' * 100_000 + b'"page":1}', 200),
    "one member many times in a filter": (b'{"filter":{' + b'"op":"EQ",' * 90_000 + b'"op":"EQ"}}', 400),
    "keys that collide": (json.dumps(dict.fromkeys(COLLIDING, 1)).encode(), 200),
    "a number of many digits": (b'{"page":' + b"9" * 5000 + b"}", 422),
    "a number of many digits in an ignored member": (b'{"other":' + b"9" * 5000 + b"}", 200),
    "a number of many digits in a filter": (
        b'{"filter":{"op":"GT","key":"duration_ms","value":' + b"9" * 5000 + b"}}",
        400,
    ),
    "a fraction that is none": (b'{"page":1e-400}', 422),
    "half a character": (b'{"filter":{"op":"EQ","key":"name","value":"\\ud800"}}', 422),
    "bytes that are no text": (b'{"filter":{"op":"EQ","key":"name","value":"\xff"}}', 422),
    "bytes that are no text in a value": (b'{"group_by":"\xff"}', 422),
    "bytes that are no text in the name of a member": (b'{"\xff":1}', 422),
    "bytes that are no text in an ignored member": (b'{"other":"\xff"}', 422),
    "a NUL": (b'{"filter":{"op":"EQ","key":"name","value":"\\u0000"}}', 200),
}


@pytest.mark.parametrize("body", BODIES)
def test_a_hostile_body_gets_its_status(service: RunningService, body: str) -> None:
    content, status = BODIES[body]
    response = service.http.post("/traces/search", content=content, headers=JSON)
    assert response.status_code == status, response.text[:200]
    assert len(response.content) < 4096 or status == 200
    assert service.http.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/traces/search"),
        ("POST", "/traces/delete"),
        ("POST", "/sessions"),
        ("POST", "/sessions/s/rename"),
        ("PATCH", "/sessions/s"),
    ],
)
@pytest.mark.parametrize(
    "body", [b'{"session_name":"\xff"}', b'{"filter":{"key":"\xff"}}', b'{"a":"\xc3"}', b"\xff\xfe{}"]
)
def test_bytes_that_are_no_text_are_422_with_their_place(
    service: RunningService, method: str, path: str, body: bytes
) -> None:
    response = service.http.request(method, path, content=body, headers=JSON)
    place = next(number for number, byte in enumerate(body) if byte >= 0x80)
    assert (response.status_code, response.json()["detail"].rpartition(" - ")[2]) == (422, f"at byte {place}")


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/traces/search"),
        ("POST", "/spans/search"),
        ("POST", "/traces/aggregate"),
        ("POST", "/traces/facets"),
        ("POST", "/traces/delete"),
        ("POST", "/sessions"),
        ("PATCH", "/sessions/s"),
        ("POST", "/approvals/a/resolve"),
    ],
)
def test_a_number_of_many_digits_before_a_mistake_is_422(
    service: RunningService, method: str, path: str, number: str
) -> None:
    """The hint about the mistake uses another parser, which cannot convert the number."""
    response = service.http.request(method, path, content=f"{{\"a\":{number},'b':1}}", headers=JSON)
    assert (response.status_code, response.json()["error_code"]) == (422, "VALIDATION_ERROR")


def test_a_number_of_many_digits_in_a_filter_of_the_query_is_400(service: RunningService) -> None:
    expression = f'{{"op":"GT","key":"duration_ms","value":{"9" * 5000}}}'
    response = service.http.get("/traces/export", params={"filter": expression})
    assert (response.status_code, response.json()["error_code"]) == (400, "BAD_REQUEST")


def leaf(op: str, key: str, value: object) -> dict[str, Any]:
    return {"op": op, "key": key, "value": value}


NO_LISTS: list[Any] = ["x", 1, None, {}, ["x", 1], ["x", None], [["x"]]]
NO_TEXTS: list[Any] = [1, True, None, ["x"], {}]
NO_TIMES: list[Any] = ["", "soon", 0, 1.7e9, "1700000000", "2024-02-30", "2024-13-01", "10000-01-01", "24:00", None]
REJECTED = [
    *({"op": "IN", "key": "name", "values": values} for values in NO_LISTS),
    *(leaf(op, key, "1") for op in ("CONTAINS", "STARTSWITH") for key in ("duration_ms", "start_time", "created_at")),
    *(leaf("CONTAINS", "name", value) for value in NO_TEXTS),
    *(leaf("EQ", "duration_ms", value) for value in ("1", True, None, [1])),
    *(leaf("GT", "start_time", value) for value in NO_TIMES),
]


@pytest.mark.parametrize("expression", REJECTED, ids=json.dumps)
def test_a_value_of_another_type_is_400_with_its_path(service: RunningService, expression: dict[str, Any]) -> None:
    response = service.search(filter=expression)
    assert (response.status_code, response.json()["error_code"]) == (400, "BAD_REQUEST")
    assert " - at `$" in response.json()["detail"]


def test_an_instant_is_the_same_in_every_notation(service: RunningService) -> None:
    written = ["2024-05-01T00:00:00Z", "2024-05-01", "2024-05-01T05:30:00+05:30", "2024-04-30T23:00:00-01:00"]
    totals = {service.search(filter=leaf("GTE", "start_time", text)).json()["meta"]["total_count"] for text in written}
    assert len(totals) == 1


LITERALS = ["' OR 1=1--", "%", "_", "\\", "*", ".*", "$(id)", "{{7*7}}", "\0", "\N{SNOWMAN}", "name", "null"]


@pytest.mark.parametrize("text", LITERALS)
def test_a_value_is_never_interpreted(service: RunningService, text: str) -> None:
    trace_id = f"{LITERALS.index(text) + 1:02x}" * 16
    user = f"literal <{text}>"
    body = export_request(trace_id, "b" * 16, **{"user.id": user})
    service.http.post("/v1/traces", content=body, headers=JSON).raise_for_status()
    for op, value in (("EQ", user), ("STARTSWITH", f"literal <{text}"), ("CONTAINS", f"<{text}>")):
        assert service.trace_ids(filter=leaf(op, "user_id", value)) == [trace_id]


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: x\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
    ],
)
def test_an_ambiguous_request_is_rejected(service: RunningService, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", service.port), 10) as connection:
        connection.sendall(
            b"POST /traces/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + head
        )
        connection.sendall(b"Connection: close\r\n\r\n{}")
        connection.shutdown(socket.SHUT_WR)
        response = connection.makefile("rb").read()
    assert not response.startswith(b"HTTP/1.1 2"), response[:200]
    assert not response.startswith(b"HTTP/1.1 5"), response[:200]
