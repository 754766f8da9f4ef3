"""Queries are limited before they are parsed."""

from __future__ import annotations

import pytest
from msgspec import Struct
from starlette.requests import Request

from spanwise.errors import ValidationError
from spanwise.http.requests.query import MAX_PARAMETERS, MAX_PUBLIC_BYTES, decode_query, query_parameters


class Names(Struct):
    """A query with a list."""

    name: list[str] = []


def request_of(query: bytes, *, is_public: bool) -> Request:
    return Request({"type": "http", "query_string": query, "headers": [], "state": {"is_public": is_public}})


@pytest.mark.parametrize("is_public", [False, True])
@pytest.mark.parametrize("parameter", [b"a", b"", b"name=x", b"a=%41", b"a;b"])
def test_a_query_of_more_parameters_than_allowed_is_rejected(parameter: bytes, *, is_public: bool) -> None:
    at_the_limit = b"&".join([parameter] * MAX_PARAMETERS)
    query_parameters(request_of(at_the_limit, is_public=is_public))
    for query in (at_the_limit + b"&", at_the_limit * 100):
        with pytest.raises(ValidationError, match=f"^the query has more than {MAX_PARAMETERS} parameters$"):
            query_parameters(request_of(query, is_public=is_public))


def test_a_public_query_is_shorter() -> None:
    at_the_limit = b"name=" + b"x" * (MAX_PUBLIC_BYTES - 5)
    assert decode_query(request_of(at_the_limit, is_public=True), Names).name == ["x" * (MAX_PUBLIC_BYTES - 5)]
    with pytest.raises(ValidationError, match=f"^the query is longer than {MAX_PUBLIC_BYTES} bytes$"):
        decode_query(request_of(at_the_limit + b"x", is_public=True), Names)
    assert decode_query(request_of(at_the_limit + b"x", is_public=False), Names).name


def test_a_query_that_is_too_long_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(request: Request) -> None:
        raise AssertionError(request)

    monkeypatch.setattr(Request, "query_params", property(parse))
    for query in (b"&" * 60_000, b"a&" * 30_000, b"%41" * 20_000):
        with pytest.raises(ValidationError):
            query_parameters(request_of(query, is_public=True))
