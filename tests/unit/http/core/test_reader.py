"""A reader rejects every route that changes data, and serves every route that only reads traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spanwise.errors import MethodNotAllowedError, NotFoundError, SpanwiseError, UnavailableError
from spanwise.http.core.reader import reader_rejection
from spanwise.http.routing.table import TABLE

if TYPE_CHECKING:
    from spanwise.http.core.route import Route

WRITER = "https://writer.example"
READS = {"/traces/search", "/spans/search", "/traces/aggregate", "/traces/facets", "/traces/tail"}
"""The routes that take a body and change no data."""


def rejection_of(route: Route, writer_url: str = WRITER) -> SpanwiseError | None:
    reject = reader_rejection(route, writer_url)
    if reject is None:
        return None
    with pytest.raises(SpanwiseError) as raised:
        reject()
    return raised.value


@pytest.mark.parametrize("route", TABLE, ids=lambda route: f"{route.method} {route.path}")
def test_a_reader_serves_what_only_reads_traces(route: Route) -> None:
    rejection = rejection_of(route)
    if route.operation.is_otlp:
        assert isinstance(rejection, UnavailableError)
    elif route.method != "GET" and route.path not in READS:
        assert isinstance(rejection, MethodNotAllowedError)
    elif route.path.startswith("/sessions"):
        assert isinstance(rejection, NotFoundError)
    else:
        assert rejection is None
    assert rejection is None or WRITER in str(rejection)


def test_a_writer_that_is_not_known_is_not_named() -> None:
    rejections = [found for route in TABLE if (found := rejection_of(route, "")) is not None]
    assert len(rejections) > 10
    assert all(str(each).endswith(" the writer") for each in rejections)
