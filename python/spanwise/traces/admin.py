"""Administration of a store that no service has open: deletion, compaction, backup and verification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spanwise._engine import Filter, TraceStore
from spanwise.errors import ConfigurationError
from spanwise.settings import is_bucket
from spanwise.traces.store_options import open_store

if TYPE_CHECKING:
    from spanwise.settings import Settings


def delete_traces(settings: Settings, source: bytes, *, dry_run: bool) -> int:
    """Returns how many traces were deleted, or would be.

    Args:
        settings: names the store.
        source: the filter expression of the traces to delete, as JSON.
        dry_run: whether to count the traces without deleting them.

    Raises:
        FilterError: the filter is invalid.
        ConfigurationError: there is no store.
        StoreError: another process holds the store, it is damaged, or the storage failed.
    """
    compiled = Filter.compile(source)
    store = _open_existing(settings)
    try:
        return store.delete(compiled, dry_run)
    finally:
        store.close()


def compact_store(settings: Settings, *, purge: bool) -> None:
    """Merges the segments of a store.

    Args:
        settings: names the store.
        purge: whether to erase deleted traces from the disk as well.

    Raises:
        ConfigurationError: there is no store.
        StoreError: another process holds the store, it is damaged, or the storage failed.
    """
    store = _open_existing(settings)
    try:
        store.compact(purge)
    finally:
        store.close()


def backup_store(url: str, target: str) -> bytes:
    """Copies a store, which a service may have open, and returns a JSON report of what the copy holds.

    Args:
        url: the folder or bucket of the store.
        target: an empty folder or bucket.

    Raises:
        ConfigurationError: there is no store, or `target` is not empty.
        StoreError: the store is damaged, or the storage failed.
        UnavailableError: the store changes faster than it can be copied.
    """
    return TraceStore.backup(url, target)


def check_store(url: str) -> bytes:
    """Verifies every object of a store and returns the report as JSON.

    Raises:
        StoreError: the store is damaged or cannot be read.
    """
    return TraceStore.check(url)


def _open_existing(settings: Settings) -> TraceStore:
    # A misspelt folder must not become an empty store.
    if not is_bucket(settings.trace_store) and not Path(settings.trace_store).exists():
        raise ConfigurationError(f"expected traces in `{settings.trace_store}`, found no such folder")
    return open_store(settings.trace_store, settings, existing=True)
