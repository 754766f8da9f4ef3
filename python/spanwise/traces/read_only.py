"""A look into a store that may be in use by another process: exports of it, and searches in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spanwise._engine import Cancel, Filter, TraceStore
from spanwise.errors import ConfigurationError
from spanwise.settings import is_bucket
from spanwise.traces.search import search_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from msgspec import Raw

    from spanwise.models import SearchRequest
    from spanwise.settings import Settings


def export_traces(settings: Settings, source: bytes, form: str) -> Iterator[bytes]:
    """Returns the pieces of a file with the traces that a filter matches, all of one state of the store.

    Args:
        settings: which store.
        source: the filter, as JSON.
        form: one of `spanwise.traces.download.FORMATS`.

    Raises:
        FilterError: the filter is invalid.
        ConfigurationError: there is no store, or no such format.
        StoreError: the store is damaged, or the storage below failed.
    """
    compiled = Filter.compile(source)
    return _look(settings).export(compiled, form)


def search_traces(settings: Settings, request: SearchRequest) -> bytes:
    """Returns the body with which a service over this store would answer `request`.

    Raises:
        FilterError: the filter is invalid.
        ConfigurationError: there is no store.
        StoreError: the store is damaged, or the storage below failed.
        PayloadTooLargeError: the page is over its limit; the message names a limit that fits.
    """

    def compiled(source: Raw) -> Filter:
        return Filter.compile(bytes(source))

    compiled(request.filter)  # a fault of the filter is told before the store is read
    return search_page(_look(settings), compiled, request, Cancel(), detail=True)


def _look(settings: Settings) -> TraceStore:
    if not is_bucket(settings.trace_store) and not Path(settings.trace_store).exists():
        raise ConfigurationError(f"expected traces in `{settings.trace_store}`, found no such folder")
    return TraceStore.look(settings.trace_store)
