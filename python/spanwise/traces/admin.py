"""What is done to a store by hand: traces are deleted, segments merged, and what was deleted taken off the disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spanwise._engine import Filter
from spanwise.errors import ConfigurationError
from spanwise.settings import is_bucket
from spanwise.traces.store_options import open_store

if TYPE_CHECKING:
    from spanwise._engine import TraceStore
    from spanwise.settings import Settings


def delete_traces(settings: Settings, source: bytes, *, dry_run: bool) -> int:
    """Returns how many traces were deleted, or would be: those that a filter matches, given as JSON.

    Raises:
        FilterError: the filter is invalid.
        ConfigurationError: there is no store.
        StoreError: another process holds the store, it is damaged, or the storage below failed.
    """
    compiled = Filter.compile(source)
    store = _existing(settings)
    try:
        return store.delete(compiled, dry_run)
    finally:
        store.close()


def compact_store(settings: Settings, *, purge: bool) -> None:
    """Merges the segments of a store; with `purge` nothing is left on disk of what was deleted.

    Raises:
        ConfigurationError: there is no store.
        StoreError: another process holds the store, it is damaged, or the storage below failed.
    """
    store = _existing(settings)
    try:
        store.compact(purge)
    finally:
        store.close()


def _existing(settings: Settings) -> TraceStore:
    # A misspelt folder must not become an empty store.
    if not is_bucket(settings.trace_store) and not Path(settings.trace_store).exists():
        raise ConfigurationError(f"expected traces in `{settings.trace_store}`, found no such folder")
    return open_store(settings.trace_store, settings, existing=True)
