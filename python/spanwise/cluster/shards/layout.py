"""The shards of a store, and the traces of each: a JSON object that is created once.

A layout is an object at `layout/<number>.json` in the folder or bucket of the store. The shards are stores beside it,
at `shards/<ulid>`. The greatest number is in force. An object never changes: the first writer of a number decides it.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from spanwise._engine import RequestSplitter, create_object, list_objects, read_object
from spanwise.errors import ConfigurationError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SHARDS = 64
"""The maximum number of shards of a new layout."""

GUARD_FORMAT = 1_000_000
"""The format of the manifest that occupies the location of a store's manifest. No program opens it."""

_LAYOUT = "layout"
_MANIFEST = "manifest"
_DIGITS = 20
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class ShardEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One shard of a layout.

    Attributes:
        prefix: the first bits of the hashes of its traces, as digits; empty for all traces.
        store: its name below `shards`.
    """

    prefix: str
    store: str


class Layout(Struct, frozen=True, forbid_unknown_fields=True):
    """The shards of a store, whose prefixes cover every hash once.

    Attributes:
        number: its number, from 1.
        shards: its shards.
        format: the version of this object.
        hash: the hash function of trace ids: CRC-32C of the 16 bytes.
    """

    number: int
    shards: tuple[ShardEntry, ...]
    format: Literal[1] = 1
    hash: Literal["crc32c"] = "crc32c"

    @property
    def prefixes(self) -> list[str]:
        """Returns the prefixes of the shards, in their order."""
        return [shard.prefix for shard in self.shards]

    def locations(self, url: str) -> list[str]:
        """Returns the paths or URLs of the shards of the store at `url`, in their order."""
        return [f"{url.rstrip('/')}/shards/{shard.store}" for shard in self.shards]

    @classmethod
    def of(cls, shards: int) -> Layout:
        """Returns the first layout of a new store. Prefixes differ by at most one bit in length.

        Raises:
            ConfigurationError: `shards` is not in 1 to `MAX_SHARDS`.
        """
        if not 1 <= shards <= MAX_SHARDS:
            raise ConfigurationError(f"expected 1 to {MAX_SHARDS} shards, got {shards}")
        return cls(1, tuple(ShardEntry(prefix, _new_name()) for prefix in _prefixes(shards)))


def open_layout(url: str, shards: int) -> Layout:
    """Returns the layout of a sharded store, and creates it if it does not exist.

    Args:
        url: the path of the folder of the store, or the URL of its bucket.
        shards: the number of shards of a new store; an existing one keeps its own.

    Raises:
        ConfigurationError: `shards` is not in 1 to `MAX_SHARDS`, or an existing store is not sharded.
        StoreDamagedError: the layout cannot be read.
        StoreError: the storage failed.
    """
    if (newest := newest_layout(url)) is not None:
        return newest
    # Another process may create the layout and its guard between the two reads.
    is_store = bool(list_objects(url, _MANIFEST))
    if (newest := newest_layout(url)) is not None:
        return newest
    if is_store:
        raise ConfigurationError(
            f"the store in `{url}` is not divided, and `shards` is {shards}: expected 1, or a location without a store"
        )
    write_layout(url, Layout.of(shards))
    # Another process may have been first.
    if (newest := newest_layout(url)) is None:
        raise StoreError(f"`{url}`: the layout vanished while it was created")
    return newest


def write_layout(url: str, layout: Layout) -> None:
    """Writes a layout, unless its number exists already, and guards the store. Durable when it returns.

    Raises:
        StoreError: the storage failed.
    """
    create_object(url, f"{_LAYOUT}/{layout.number:0{_DIGITS}}.json", msgspec.json.encode(layout))
    guard_store(url)


def guard_store(url: str) -> None:
    """Makes programs that do not support shards reject a sharded store instead of creating a new one beside the shards.

    Those programs see a store of a newer format and leave it unchanged.

    Raises:
        StoreError: the storage failed.
    """
    path = f"{_MANIFEST}/{1:0{_DIGITS}}.json"
    if read_object(url, path) is None:
        guard = {"format": GUARD_FORMAT, "manifest": "the store is divided among shards"}
        create_object(url, path, msgspec.json.encode(guard))


def newest_layout(url: str) -> Layout | None:
    """Returns the layout of a sharded store; None if it does not exist.

    Raises:
        StoreDamagedError: the layout cannot be read.
        StoreError: the storage failed.
    """
    found = [path for path in list_objects(url, _LAYOUT) if path.endswith(".json")]
    content = read_object(url, found[-1]) if found else None
    if content is None:
        return None
    try:
        layout = msgspec.json.decode(content, type=Layout)
        # The engine checks that the prefixes cover every hash once.
        RequestSplitter(layout.prefixes, 0)
    except (msgspec.MsgspecError, ConfigurationError) as error:
        raise StoreDamagedError(f"`{found[-1]}` in `{url}` is not a layout: {error}") from error
    return layout


def layout_of(url: str, new_shards: int = 1) -> Layout | None:
    """Returns the layout of the store at `url`; None if it is not sharded.

    Args:
        url: the path of its folder, or the URL of its bucket.
        new_shards: the number of shards of a store that does not exist yet.

    Raises:
        ConfigurationError: an existing store is not sharded, and `new_shards` is more than one.
        StoreError: the layout is damaged, or the storage failed.
    """
    return open_layout(url, new_shards) if new_shards > 1 else newest_layout(url)


def divided_layout(url: str) -> Layout:
    """Returns the layout of a store.

    Raises:
        ConfigurationError: the store does not exist or is not sharded.
    """
    layout = layout_of(url)
    if layout is None:
        raise ConfigurationError(f"`{url}` has no store with shards; create one with `--shards`")
    return layout


def _prefixes(count: int) -> Iterator[str]:
    bits = (count - 1).bit_length()
    # This many prefixes are one bit shorter, because each covers two of the longer ones.
    short = 2**bits - count
    for number in range(short):
        yield f"{number:0{bits - 1}b}"
    for number in range(2 * short, 2**bits):
        yield f"{number:0{bits}b}" if bits else ""


def _new_name() -> str:
    """Returns a new ULID."""
    number = int(time.time() * 1000) << 80 | secrets.randbits(80)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))
