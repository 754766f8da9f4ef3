"""A trace store as the settings want it, and what it says of itself."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from spanwise._engine import TraceStore

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


def open_store(url: str, settings: Settings) -> TraceStore:
    """Returns the store at `url`, open. What it has set aside is an error in the log at every opening.

    Raises:
        ConfigurationError: the address or an option is not usable.
        StoreError: another process holds the store, it is damaged, or the storage below failed.
    """
    options = {
        "min_free_bytes": settings.min_free_bytes,
        "recover": settings.recover,
        "retain_seconds": settings.retain_seconds or None,
        "retain_bytes": settings.retain_bytes or None,
    }
    store = TraceStore.open(url, msgspec.json.encode(options))
    for aside in _stats(store).aside:
        _log.error("`%s` is set aside, its %d traces are in no answer: %s", aside.segment, aside.traces, aside.fault)
    return store


def is_acknowledging(store: TraceStore) -> bool:
    """Returns whether the store makes durable what it is sent."""
    return _stats(store).is_acknowledging


def backup_store(url: str, target: str) -> bytes:
    """Returns what a backup of the store at `url` into the folder `target` holds, as finished JSON.

    Raises:
        ConfigurationError: there is no store, or `target` is not empty.
        StoreError: the store is damaged, or the storage below failed.
        UnavailableError: the store moves on faster than it can be read.
    """
    return TraceStore.backup(url, target)


def _stats(store: TraceStore) -> _Stats:
    return msgspec.json.decode(store.stats(), type=_Stats)
