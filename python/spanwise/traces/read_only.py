"""Searches and exports of a store that another process may have open."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanwise._engine import CancellationToken, Filter, TraceStore
from spanwise.api.traces import PageRequest
from spanwise.cluster.opening import open_shards
from spanwise.cluster.shards.layout import layout_of
from spanwise.cluster.shards.local import LocalShard
from spanwise.engine_globals import set_engine_globals
from spanwise.traces.admin import expect_store
from spanwise.traces.search import queries
from spanwise.traces.search.page import search_page

if TYPE_CHECKING:
    from spanwise.api.traces import SearchRequest
    from spanwise.settings import Settings
    from spanwise.store_protocol import Download, Store


def export_traces(settings: Settings, source: bytes, form: str) -> Download:
    """Returns the chunks of a file with every matching trace, read from one snapshot of the store, and its progress.

    Args:
        settings: names the store.
        source: the filter expression, as JSON.
        form: one of `spanwise.traces.download.FORMATS`.

    Raises:
        FilterError: the filter is invalid.
        ConfigurationError: the store or the format does not exist.
        StoreError: the store is damaged, or the storage failed.
    """
    compiled = Filter.compile(source)
    return _open_read_only(settings).export(compiled, form)


def search_traces(settings: Settings, request: SearchRequest) -> bytes:
    """Returns the JSON body of a service's response to `request` over this store.

    Raises:
        FilterError: the filter is invalid.
        ConfigurationError: the store does not exist.
        StoreError: the store is damaged, or the storage failed.
        PayloadTooLargeError: the page exceeds its size limit; the message names a limit that fits.
    """
    compiled = Filter.compile(bytes(request.filter))
    store = _open_read_only(settings)
    page = PageRequest.of(request)
    return search_page(store, compiled, page, CancellationToken(), time.perf_counter())


def find_trace(settings: Settings, trace_id: str) -> bytes | None:
    """Returns one trace with its tree as JSON; None if it does not exist.

    Raises:
        ConfigurationError: the store does not exist.
        StoreError: the store or the trace is damaged, or the storage failed.
    """
    query = queries.trace(Filter.compile(b"null"), trace_id)
    found = _open_read_only(settings).query(query)
    return found.data if found.total else None


def _open_read_only(settings: Settings) -> Store:
    expect_store(settings)
    set_engine_globals(settings)
    url = settings.trace_store
    if (layout := layout_of(url)) is None:
        return TraceStore.open_read_only(url)
    number = layout.number
    return open_shards(url, layout, lambda location: LocalShard(TraceStore.open_read_only(location), number))
