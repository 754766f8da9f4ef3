"""A real server over a store of known traces, for all benches of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest
from running import Running
from spanwise import TraceStore
from spanwise.demo import CONTENT_TYPE, exports

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = 20_000
SEED = 7


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server over `TRACES` made-up traces, all of them in segments."""
    data_dir = tmp_path_factory.mktemp("search") / "data"
    data_dir.mkdir()
    store = TraceStore.open(str(data_dir / "traces"))
    for export in exports(TRACES, SEED, NOW):
        assert store.ingest(export.body, CONTENT_TYPE).rejected_spans == 0
    store.flush()
    store.close()
    with Running(data_dir) as running:
        yield running


@pytest.fixture
def connection(service: Running) -> Iterator[HTTPConnection]:
    """One connection that is kept open."""
    connection = HTTPConnection("127.0.0.1", service.port)
    yield connection
    connection.close()
