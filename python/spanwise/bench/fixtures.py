"""A filled trace store in one line, for benchmarks and tests of one's own. It needs the extra `bench`, and pytest.

    pytest_plugins = ["spanwise.bench.fixtures"]

    def test_my_question(filled_store, benchmark):
        store = filled_store(100_000)

Source: `docs/how-to/compare.md`.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

import pytest

from spanwise.bench.data.documents import Writer
from spanwise.bench.data.rows import chunks, draw
from spanwise.bench.data.shape import Shape
from spanwise.bench.stages.build import send
from spanwise.bench.stages.indexes import open_indexed
from spanwise.traces import TraceStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spanwise.bench.data.shape import Documents


class FilledStore(Protocol):
    """Returns a store with made-up traces."""

    def __call__(self, traces: int, documents: Documents = "small", seed: int = 7) -> TraceStore:
        """Returns an open store with all indexes. It is filled once for all tests, which must not change it.

        Args:
            traces: how many traces it has.
            documents: `small`: one short span per trace; `real`: up to 500 spans per trace, 6 in the median, of about
                1 KB each.
            seed: the seed of the random generator; the same one always gives the same spans.
        """


@pytest.fixture(scope="session")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilledStore]:
    """Returns a function that fills stores, see `FilledStore`. They are closed and removed after the last test."""
    with ExitStack() as opened:
        stores: dict[Shape, TraceStore] = {}

        def filled(traces: int, documents: Documents = "small", seed: int = 7) -> TraceStore:
            shape = Shape(traces, documents, seed)
            if shape not in stores:
                folder = tmp_path_factory.mktemp(shape.folder)
                _fill(folder, shape)
                stores[shape] = open_indexed(folder)
                opened.callback(stores[shape].close)
            return stores[shape]

        yield filled


def _fill(folder: Path, shape: Shape) -> None:
    store = TraceStore.open(str(folder))
    try:
        writer = Writer(shape)
        for chunk in range(chunks(shape)):
            for request in writer.requests(draw(shape, chunk), chunk):
                send(store, request)
        store.flush()
        store.compact()
    finally:
        store.close()
