"""Which shards there are, and which traces are on each: one JSON object, which is created once.

A layout is an object at `layout/<number>.json` in the folder of the store, beside `shards/<ulid>/`, the folders of the
shards. The greatest number holds. An object is never changed: who writes a number first has decided it.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from spanwise._engine import RequestSplitter
from spanwise.errors import ConfigurationError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_SHARDS = 64
"""The most shards of a new layout."""

GUARD_FORMAT = 1_000_000
"""The format of the manifest that stands where that of a store would: no program opens it."""

_DIGITS = 20
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class PlacedShard(Struct, frozen=True, forbid_unknown_fields=True):
    """One shard of a layout.

    Attributes:
        prefix: the first bits of the hashes of its traces, as digits; empty for all traces.
        store: the name of its folder below `shards`.
    """

    prefix: str
    store: str


class Layout(Struct, frozen=True, forbid_unknown_fields=True):
    """The shards of a store, whose prefixes cover every hash once.

    Attributes:
        number: its number, from 1.
        shards: its shards.
        format: the version of this object.
        hash: of what trace ids are hashed by: CRC-32C of the 16 bytes.
    """

    number: int
    shards: tuple[PlacedShard, ...]
    format: Literal[1] = 1
    hash: Literal["crc32c"] = "crc32c"

    @property
    def prefixes(self) -> list[str]:
        """Returns the prefixes of the shards, in their order."""
        return [shard.prefix for shard in self.shards]

    def folders(self, folder: Path) -> list[Path]:
        """Returns the folders of the shards, in their order, of a store in `folder`."""
        return [folder / "shards" / shard.store for shard in self.shards]

    @classmethod
    def of(cls, shards: int) -> Layout:
        """Returns the first layout of a new store. Prefixes differ by at most one bit in length.

        Raises:
            ConfigurationError: `shards` is not in 1 to `MAX_SHARDS`.
        """
        if not 1 <= shards <= MAX_SHARDS:
            raise ConfigurationError(f"expected 1 to {MAX_SHARDS} shards, got {shards}")
        return cls(1, tuple(PlacedShard(prefix, _new_name()) for prefix in _prefixes(shards)))


def open_layout(folder: Path, shards: int) -> Layout:
    """Returns the layout of a sharded store in a folder, which is created if there is none.

    Args:
        folder: the folder of the store.
        shards: how many shards a new store has; one that is there keeps its own.

    Raises:
        ConfigurationError: `shards` is not in 1 to `MAX_SHARDS`, or the folder has a store that is not sharded.
        StoreDamagedError: the layout cannot be read.
        StoreError: the folder cannot be read or written.
    """
    if (newest := newest_layout(folder)) is not None:
        return newest
    # Another process may create the layout, and what is written with it, between two looks.
    is_store = (folder / "manifest").exists()
    if (newest := newest_layout(folder)) is not None:
        return newest
    if is_store:
        raise ConfigurationError(
            f"the store in `{folder}` is not divided, and `shards` is {shards}: expected 1, or a folder without a store"
        )
    write_layout(folder, Layout.of(shards))
    # Another process may have been first.
    if (newest := newest_layout(folder)) is None:
        raise StoreError(f"`{folder}`: the layout vanished while it was created")
    return newest


def write_layout(folder: Path, layout: Layout) -> None:
    """Writes a layout, unless there is one of its number already, and guards the folder. Durable when it returns.

    Raises:
        StoreError: the folder cannot be written.
    """
    try:
        _create(folder / "layout" / f"{layout.number:0{_DIGITS}}.json", msgspec.json.encode(layout))
    except OSError as error:
        raise StoreError(f"`{folder}`: {error}") from error
    guard_folder(folder)


def guard_folder(folder: Path) -> None:
    """Has programs that know no shards reject a folder with shards, where they would make a new store.

    To them it is a store of a newer format, which they leave as it is.

    Raises:
        StoreError: the folder cannot be written.
    """
    path = folder / "manifest" / f"{1:0{_DIGITS}}.json"
    try:
        if not path.exists():
            _create(
                path, msgspec.json.encode({"format": GUARD_FORMAT, "manifest": "the store is divided among shards"})
            )
    except OSError as error:
        raise StoreError(f"`{folder}`: {error}") from error


def newest_layout(folder: Path) -> Layout | None:
    """Returns the layout of a sharded store in a folder; None if there is none.

    Raises:
        StoreDamagedError: the layout cannot be read.
        StoreError: the folder cannot be read.
    """
    try:
        found = sorted((folder / "layout").glob("*.json"))
        content = found[-1].read_bytes() if found else None
    except OSError as error:
        raise StoreError(f"`{folder}`: {error}") from error
    if content is None:
        return None
    try:
        layout = msgspec.json.decode(content, type=Layout)
        # The engine checks that the prefixes cover every hash once.
        RequestSplitter(layout.prefixes, 0)
    except (msgspec.MsgspecError, ConfigurationError) as error:
        raise StoreDamagedError(f"`{found[-1]}` is no layout: {error}") from error
    return layout


def _create(path: Path, content: bytes) -> None:
    """Writes a file that exists whole or not at all, unless there is one already. Durable when it returns."""
    created = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(created):
        folder.mkdir(mode=0o700, exist_ok=True)
    written = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            # Unlike a rename, a link does not replace what is there.
            os.link(written, path)
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise
    finally:
        written.unlink(missing_ok=True)
    for folder in (path.parent, *(folder.parent for folder in created)):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _prefixes(count: int) -> Iterator[str]:
    bits = (count - 1).bit_length()
    # So many prefixes are a bit shorter: each takes the place of two.
    short = 2**bits - count
    for number in range(short):
        yield f"{number:0{bits - 1}b}"
    for number in range(2 * short, 2**bits):
        yield f"{number:0{bits}b}" if bits else ""


def _new_name() -> str:
    """Returns a new ULID."""
    number = int(time.time() * 1000) << 80 | secrets.randbits(80)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))
