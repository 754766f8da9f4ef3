"""Opens a trace store with the options of the settings, and reads its statistics."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from spanwise._engine import TraceStore
from spanwise.cluster.opening import open_shards
from spanwise.cluster.ray.opening import ray_opener
from spanwise.cluster.shards.layout import guard_store, layout_of
from spanwise.cluster.shards.local import LocalShard
from spanwise.engine_globals import set_engine_globals
from spanwise.errors import ConfigurationError, StoreError
from spanwise.settings import is_bucket
from spanwise.settings.budgets import HEAD_MEMORY_FACTOR, max_index_bytes, max_segment_traces, max_segments

if TYPE_CHECKING:
    from spanwise._engine import Progress
    from spanwise.settings import Settings
    from spanwise.store_protocol import Store

_log = logging.getLogger(__name__)
_WAL = "wal"
_INDEX_KINDS = ("spans", "texts", "attributes")
"""The kinds of index that the engine builds from documents. A setting `index_<kind>` turns each on or off."""


class _QuarantinedSegment(msgspec.Struct, frozen=True, rename={"error": "fault"}):
    segment: str
    traces: int
    error: str


class _QuarantinedWal(msgspec.Struct, frozen=True, rename={"error": "fault"}):
    object: str
    lost_requests: int | None
    traces: int
    trace_ids: list[str]
    error: str
    last_object: str | None = None


_STATS_NAMES = {
    "quarantined": "aside",
    "quarantined_wal": "wal_aside",
    "holding_error": "holding_fault",
    "following_error": "following_fault",
}


class _Stats(msgspec.Struct, frozen=True, rename=_STATS_NAMES):
    is_acknowledging: bool
    holding_error: str | None
    as_of: int | None
    lag_seconds: float | None
    following_error: str | None
    quarantined: list[_QuarantinedSegment]
    quarantined_wal: list[_QuarantinedWal]


def open_store(url: str, settings: Settings, *, existing: bool = False, progress: Progress | None = None) -> Store:
    """Returns the open store at `url`. Logs an error for each quarantined object, and a warning for an open folder.

    Args:
        url: the path of its folder, or the URL of its bucket.
        settings: the options to open it with.
        existing: True if the store must exist; otherwise a missing one is created with the configured number of shards.
        progress: counts the objects that are read.

    Raises:
        ConfigurationError: the address or an option is invalid.
        StoreError: another process holds the store, it is damaged, or the storage failed.
    """
    if not is_bucket(url):
        folder = folder_of(url)
        _warn_if_open(folder, 0o077)
        if folder.is_relative_to(settings.data_dir):
            # Files in the folder have modes of their own, but any user who may write to the folder can replace them.
            _warn_if_open(Path(settings.data_dir), 0o022)
    set_engine_globals(settings)
    layout = layout_of(url, new_shards=1 if existing else settings.shards)
    # A command that has a store to itself needs no other processes.
    in_cluster = bool(settings.cluster) and not existing
    if layout is None and in_cluster:
        raise ConfigurationError(
            f"`cluster` is `{settings.cluster}`, and the store in `{url}` is not divided: expected `shards` to be more "
            "than 1 as the store is created"
        )
    if settings.followers and not settings.cluster:
        raise ConfigurationError("`followers` are processes that Ray runs: set `cluster`, too, expected 0 without it")
    shards = 1 if layout is None else len(layout.shards)

    def options(location: str) -> bytes:
        return msgspec.json.encode(_options(location, settings, shards) | {"existing": existing and layout is None})

    if layout is None:
        store: Store = TraceStore.open(url, options(url), progress)
    else:
        if settings.shards not in {1, shards}:
            _log.warning("the store in `%s` keeps its %d shards: `shards` is %d", url, shards, settings.shards)
        if not settings.cluster:
            _log.info(
                "the store in `%s` has %d shards, all in this process; `spanwise export` and `spanwise import` make it "
                "one store in another folder",
                *(url, shards),
            )
        number = layout.number
        guard_store(url)
        store = open_shards(
            url,
            layout,
            ray_opener(url, layout, (options, lambda location: _follower_options(location, settings, shards)), settings)
            if in_cluster
            else lambda location: LocalShard(TraceStore.open(location, options(location), progress), number),
            max_decoding_bytes=settings.decode_buffer_bytes,
            search_seconds=settings.search_deadline_seconds,
        )
    _log_quarantined(store)
    return store


def _options(location: str, settings: Settings, shards: int) -> dict[str, object]:
    """Returns the options of a store, or of one shard. Shards divide the memory and disk evenly."""
    unsealed_bytes = settings.unsealed_bytes // shards
    options: dict[str, object] = {
        "seal_bytes": unsealed_bytes // 4,
        "max_unsealed_bytes": unsealed_bytes,
        "max_head_bytes": unsealed_bytes * HEAD_MEMORY_FACTOR,
        "max_waiting_bytes": unsealed_bytes // 4,
        "max_segment_traces": max_segment_traces() // shards,
        "max_segments": max_segments(),
        "max_decoding_bytes": settings.decode_buffer_bytes,
        "min_free_bytes": settings.min_free_bytes,
        "max_index_bytes": max_index_bytes() // shards,
        "indexes": _index_kinds(settings),
        "recover": settings.recover,
        "linger_seconds": settings.linger_seconds,
        "retain_seconds": settings.retain_seconds or None,
        "retain_bytes": settings.retain_bytes // shards or None,
    }
    if is_bucket(location):
        options |= {"cache_dir": str(_cache(location, settings)), "cache_bytes": settings.cache_bytes // shards}
    return options


def folder_of(url: str) -> Path:
    """Returns the folder of a store that is not in a bucket."""
    return Path(url.removeprefix("file://"))


def follow_store(url: str, settings: Settings) -> Store:
    """Returns a reader of the store at `url`, which another process writes to. Logs quarantined objects.

    Args:
        url: the path of its folder, or the URL of its bucket.
        settings: the options to follow it with.

    Raises:
        ConfigurationError: the address or an option is invalid.
        StoreError: another reader uses the cache, the store is damaged, the storage failed, or a sharded store does not
            exist yet.
    """
    set_engine_globals(settings)
    layout = layout_of(url)
    shards = 1 if layout is None else len(layout.shards)

    def follow(location: str) -> TraceStore:
        return TraceStore.follow(location, _follower_options(location, settings, shards))

    if layout is None and settings.shards > 1:
        raise StoreError(f"there is no store of shards at `{url}` yet: start its writer before this reader")
    if layout is None:
        store: Store = follow(url)
    else:
        number = layout.number
        store = open_shards(
            url,
            layout,
            lambda location: LocalShard(follow(location), number),
            search_seconds=settings.search_deadline_seconds,
        )
    _log_quarantined(store)
    if store.as_of is None:
        _log.warning("there is no store at `%s` yet: this reader waits for a writer to create it", url)
    return store


def _follower_options(location: str, settings: Settings, shards: int) -> bytes:
    """Returns the options of the reader of a store, or of one shard."""
    options: dict[str, object] = {
        "follow_milliseconds": round(settings.follow_seconds * 1000),
        "max_index_bytes": max_index_bytes() // shards,
        "indexes": _index_kinds(settings),
    }
    if is_bucket(location) or settings.cache_dir:
        # A writer on this machine uses the default cache folder.
        options |= {"cache_dir": f"{_cache(location, settings)}-reader", "cache_bytes": settings.cache_bytes // shards}
    return msgspec.json.encode(options)


def _index_kinds(settings: Settings) -> list[str]:
    return [kind for kind in _INDEX_KINDS if getattr(settings, f"index_{kind}")]


def _log_quarantined(store: Store) -> None:
    stats = _stats(store)
    for each in stats.quarantined:
        _log.error(
            "`%s` is quarantined; its %d traces are missing from results: %s", each.segment, each.traces, each.error
        )
    for wal in stats.quarantined_wal:
        last = f" to `{wal.last_object}`" if wal.last_object else ""
        lost = "an unknown number" if wal.lost_requests is None else wal.lost_requests
        _log.error(
            "`%s`%s is damaged at %s; lost requests: %s, with spans of %d traces that are known: %s",
            *(wal.object, last, wal.error, lost, wal.traces, ", ".join(wal.trace_ids) or "none"),
        )


def _warn_if_open(folder: Path, unwanted: int) -> None:
    """Logs a warning if a folder exists and its mode has any of the `unwanted` bits."""
    if folder.is_dir() and (mode := stat.S_IMODE(folder.stat().st_mode)) & unwanted:
        _log.warning("other users can access the data folder `%s`: its mode is %04o, expected 0700", folder, mode)


def not_ready(store: Store, url: str | None, settings: Settings) -> str | None:
    """Returns which function of the store is not available, and why; None if all are. Blocks.

    Args:
        store: the open store.
        url: the path of its folder, or the URL of its bucket; None if unknown.
        settings: the options it was opened with.
    """
    stats = _stats(store)
    if stats.lag_seconds is not None:
        return _lateness(stats, stats.lag_seconds, settings)
    if stats.holding_error is not None:
        return f"search and ingest: {stats.holding_error}"
    obstacle = _ingest_obstacle(stats, url, settings)
    return obstacle and f"ingest: {obstacle}; searches are served"


def _lateness(stats: _Stats, lag: float, settings: Settings) -> str | None:
    """Returns why a reader does not respond, or the age of its results; None if they are fresh enough."""
    reason = f": {stats.following_error}" if stats.following_error else ""
    if stats.as_of is None:
        return f"search: the store was not read yet{reason}"
    if lag > settings.max_lag_seconds:
        return f"search: answers are {lag:.0f} s old, expected at most {settings.max_lag_seconds:g} s{reason}"
    return None


def _ingest_obstacle(stats: _Stats, url: str | None, settings: Settings) -> str | None:
    """Returns why the store does not acknowledge ingested spans; None if it does."""
    if not stats.is_acknowledging:
        return "a store accepts no spans until it is reopened"
    if url is None or is_bucket(url):
        return None
    layout = layout_of(url)
    wals = [folder_of(location) / _WAL for location in ([url] if layout is None else layout.locations(url))]
    if not all(_is_writable(wal) for wal in wals):
        return "the write-ahead log of a store cannot be written"
    if shutil.disk_usage(wals[0]).free < settings.min_free_bytes:
        return f"the disk of a store has less than {settings.min_free_bytes} bytes free"
    return None


def _is_writable(folder: Path) -> bool:
    """Returns True if files can be created in a folder. Creates an unnamed file where the system supports that."""
    try:
        os.close(os.open(folder, os.O_WRONLY | getattr(os, "O_TMPFILE", 0), 0o600))
    except OSError as error:
        is_unable = error.errno in (errno.EOPNOTSUPP, errno.EISDIR)
        return is_unable and os.access(folder, os.W_OK | os.X_OK)
    return True


def _cache(url: str, settings: Settings) -> Path:
    """Returns the cache folder, which belongs to this bucket alone."""
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(settings.cache_dir) if settings.cache_dir else Path(users) / "spanwise"
    return folder / sha256(url.encode()).hexdigest()[:16]


def _stats(store: Store) -> _Stats:
    return msgspec.json.decode(store.stats(), type=_Stats)
