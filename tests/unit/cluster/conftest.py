"""A single store with all captured exports, to compare sharded stores with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from support.clients.otlp import captures

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceStore]:
    """The store. A test must not change it."""
    store = TraceStore.open(str(tmp_path_factory.mktemp("one") / "traces"))
    for capture in captures():
        store.ingest(capture.body, capture.content_type, capture.content_encoding)
    yield store
    store.close()
