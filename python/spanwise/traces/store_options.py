"""A trace store as the settings want it, and what it says of itself."""

from __future__ import annotations

import logging
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from spanwise._engine import TraceStore
from spanwise.budgets import HEAD_MEMORY_FACTOR, max_segment_traces, max_segments
from spanwise.settings import is_bucket

if TYPE_CHECKING:
    from spanwise.settings import Settings

_log = logging.getLogger(__name__)


class _Aside(msgspec.Struct, frozen=True):
    segment: str
    traces: int
    fault: str


class _Stats(msgspec.Struct, frozen=True):
    is_acknowledging: bool
    aside: list[_Aside]


def open_store(url: str, settings: Settings, *, existing: bool = False) -> TraceStore:
    """Returns the store at `url`, open. What it has set aside is an error in the log at every opening.

    Args:
        url: its folder, or the address of its bucket.
        settings: how it is opened.
        existing: whether a place without a store is refused; otherwise one begins there.

    Raises:
        ConfigurationError: the address or an option is not usable.
        StoreError: another process holds the store, it is damaged, or the storage below failed.
    """
    options: dict[str, object] = {
        "seal_bytes": settings.unsealed_bytes // 4,
        "max_unsealed_bytes": settings.unsealed_bytes,
        "max_head_bytes": settings.unsealed_bytes * HEAD_MEMORY_FACTOR,
        "max_waiting_bytes": settings.unsealed_bytes // 4,
        "max_segment_traces": max_segment_traces(),
        "max_segments": max_segments(),
        "max_decoding_bytes": settings.decode_buffer_bytes,
        "min_free_bytes": settings.min_free_bytes,
        "recover": settings.recover,
        "retain_seconds": settings.retain_seconds or None,
        "retain_bytes": settings.retain_bytes or None,
        "existing": existing,
    }
    if is_bucket(url):
        options |= {"cache_dir": str(_cache(url, settings)), "cache_bytes": settings.cache_bytes}
    store = TraceStore.open(url, msgspec.json.encode(options))
    for aside in _stats(store).aside:
        _log.error("`%s` is set aside, its %d traces are in no answer: %s", aside.segment, aside.traces, aside.fault)
    return store


def is_acknowledging(store: TraceStore) -> bool:
    """Returns whether the store makes durable what it is sent."""
    return _stats(store).is_acknowledging


def backup_store(url: str, target: str) -> bytes:
    """Returns what a backup of the store at `url` to `target`, a folder or a bucket, holds, as finished JSON.

    Raises:
        ConfigurationError: there is no store, or `target` is not empty.
        StoreError: the store is damaged, or the storage below failed.
        UnavailableError: the store moves on faster than it can be read.
    """
    return TraceStore.backup(url, target)


def _cache(url: str, settings: Settings) -> Path:
    """Returns the folder that is the cache of one bucket alone."""
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(settings.cache_dir) if settings.cache_dir else Path(users) / "spanwise"
    return folder / sha256(url.encode()).hexdigest()[:16]


def _stats(store: TraceStore) -> _Stats:
    return msgspec.json.decode(store.stats(), type=_Stats)
