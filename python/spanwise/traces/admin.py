"""Administration of a store that no service has open: deletion, compaction, backup and verification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from spanwise._engine import Filter, Progress, TraceStore, list_objects
from spanwise.cluster.shards.layout import layout_of, write_layout
from spanwise.cluster.store import added_up
from spanwise.errors import ConfigurationError
from spanwise.settings import is_bucket
from spanwise.traces.store_options import folder_of, open_store

if TYPE_CHECKING:
    from spanwise.settings import Settings


_PARTS = ("layout", "manifest", "segments", "shards", "wal")
"""The first path components of a store's objects."""


class StoreSize(msgspec.Struct, frozen=True):
    """The size of a store.

    Attributes:
        traces: the number of live traces.
        segments: the number of segments.
        segment_bytes: the bytes of their objects.
    """

    traces: int
    segments: int
    segment_bytes: int


class ExistingStore:
    """An existing store, open for changes. Use it as a context manager, which closes it."""

    def __init__(self, settings: Settings, progress: Progress | None = None) -> None:
        """Opens the store.

        Args:
            settings: names the store.
            progress: counts the objects read while opening, and later the traces of `delete` and `compact`.

        Raises:
            ConfigurationError: the store does not exist.
            StoreError: another process holds the store, it is damaged, or the storage failed.
        """
        expect_store(settings)
        self._store = open_store(settings.trace_store, settings, existing=True, progress=progress)

    def __enter__(self) -> Self:
        """Returns the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the store."""
        self._store.close()

    def size(self) -> StoreSize:
        """Returns the size of the store."""
        return msgspec.json.decode(self._store.stats(), type=StoreSize)

    def count(self, source: bytes) -> int:
        """Returns the number of traces that match a filter expression, given as JSON.

        Raises:
            FilterError: the filter is invalid.
            StoreError: the store is damaged, or the storage failed.
        """
        return self._store.delete(Filter.compile(source), dry_run=True)

    def delete(self, source: bytes) -> int:
        """Deletes the traces that match a filter expression, given as JSON, and returns their number.

        Raises:
            FilterError: the filter is invalid.
            StoreError: the store is damaged, or the storage failed.
        """
        return self._store.delete(Filter.compile(source))

    def compact(self, *, purge: bool) -> None:
        """Merges the segments.

        Args:
            purge: True to erase deleted traces from the disk as well.

        Raises:
            StoreError: the store is damaged, or the storage failed.
        """
        self._store.compact(purge)


def expect_filter(source: bytes) -> None:
    """Checks a filter expression, given as JSON.

    Raises:
        FilterError: the filter is invalid.
    """
    Filter.compile(source)


def backup_store(url: str, target: str, progress: Progress | None = None, *, indexes: bool = True) -> dict[str, Any]:
    """Copies a store, which a service may have open, and returns a report about the copy.

    Args:
        url: the folder or bucket of the store.
        target: an empty folder or bucket.
        progress: counts the bytes that are read.
        indexes: True to copy the objects of indexes too.

    Raises:
        ConfigurationError: the store does not exist, or `target` is not empty.
        StoreError: the store is damaged, or the storage failed.
        UnavailableError: the store changes faster than it can be copied.
    """
    if (layout := layout_of(url)) is None:
        return _decode(TraceStore.backup(url, target, progress, indexes))
    _expect_empty(target)
    pairs = zip(layout.locations(url), layout.locations(target), strict=True)
    copied = added_up([_decode(TraceStore.backup(shard, own, progress, indexes)) for shard, own in pairs])
    # The layout is written last: without it, an interrupted copy is not a store.
    write_layout(target, layout)
    return copied


def check_store(url: str, progress: Progress | None = None) -> dict[str, Any]:
    """Verifies every object of a store and returns the report; `progress` counts the bytes that are read.

    Raises:
        StoreError: the store is damaged or cannot be read.
    """
    if (layout := layout_of(url)) is None:
        return _decode(TraceStore.check(url, progress))
    return added_up([_decode(TraceStore.check(shard, progress)) for shard in layout.locations(url)])


def _expect_empty(target: str) -> None:
    if is_bucket(target):
        found = next((path for part in _PARTS for path in list_objects(target, part)), None)
        if found is not None:
            raise ConfigurationError(f"expected an empty bucket for the copy, found `{found}` in `{target}`")
    elif (folder := folder_of(target)).is_dir() and any(folder.iterdir()):
        raise ConfigurationError(f"expected an empty folder for the copy, found `{target}` in use")


def _decode(report: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(report)
    return decoded


def expect_store(settings: Settings) -> None:
    """Checks that the folder of a store exists, because a misspelt folder must not become an empty store.

    Raises:
        ConfigurationError: the folder does not exist.
    """
    if not is_bucket(settings.trace_store) and not Path(settings.trace_store).exists():
        raise ConfigurationError(f"expected traces in `{settings.trace_store}`, found no such folder")
