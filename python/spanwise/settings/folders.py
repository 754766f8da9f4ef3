"""Resolves the location of a store: its own folder, or a data folder with the store in `traces`.

`rust/storage/objects/store_folder.rs` does the same for `TraceStore`, which works without settings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

_TRACES = "traces"
_DATA_ENTRIES = {_TRACES, "runs.db", "demo.json", "gateways"}
"""Entries of data folders only."""
_BESIDE = (".toml", ".db", ".db-journal", ".db-shm", ".db-wal")
"""Suffixes of files that a data folder may have before its store: settings, and databases of hosted components."""
_STORE_PARTS = {"LOCK", "cache", "layout", "manifest", "segments", "shards", "wal"}
_NUMBERED = re.compile(r"\d{20}\.json")
_MAX_NAMED = 3


def is_bucket(url: str) -> bool:
    """Returns whether `url` addresses a bucket rather than a local folder."""
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme.lower() != "file"


def store_at(location: str) -> str:
    """Returns the location of the store in `location`: the folder itself, or `traces` in it if it is a data folder.

    Args:
        location: the path of a store or a data folder, or the URL of a bucket, which is returned unchanged.

    Raises:
        ConfigurationError: the folder has other contents, or two stores.
    """
    if is_bucket(location):
        return location
    folder = Path(location.removeprefix("file://"))
    inner = f"{location.rstrip('/')}/{_TRACES}"
    is_outer, is_inner = _is_store(folder), _is_store(folder / _TRACES)
    if is_outer and is_inner:
        raise ConfigurationError(
            f"`{location}` is a store, and there is another one in `{inner}`: pass `{inner}`, or move it elsewhere "
            f"to use that in `{location}`"
        )
    if is_inner:
        return inner
    entries = _entries(folder)
    if is_outer or entries <= _STORE_PARTS:
        return location
    if entries & _DATA_ENTRIES:
        return inner
    raise ConfigurationError(_unknown(location, folder, entries))


def store_in_data_folder(location: str, own: Collection[str]) -> str:
    """Returns the location of the store of a data folder: `traces` in it, or the folder itself if it is a store.

    Args:
        location: the path of the folder, or the URL of a bucket, whose store is always in `traces`.
        own: paths in the settings that the folder may contain before it has a store.

    Raises:
        ConfigurationError: the folder has other contents.
    """
    inner = f"{location.rstrip('/')}/{_TRACES}"
    if is_bucket(location):
        return inner
    folder = Path(location.removeprefix("file://"))
    entries = _entries(folder)
    if entries & _DATA_ENTRIES:
        return inner
    if _is_store(folder):
        return location
    named = [Path(path).absolute() for path in own]
    unknown = {
        name
        for name in entries
        if not (name.endswith(_BESIDE) or any(path.is_relative_to(folder.absolute() / name) for path in named))
    }
    if unknown:
        raise ConfigurationError(_unknown(location, folder, unknown))
    return inner


def _is_store(folder: Path) -> bool:
    """Returns whether a folder has the manifest or the layout of a store."""
    return any(_NUMBERED.fullmatch(name) for part in ("manifest", "layout") for name in _names(folder / part))


def _entries(folder: Path) -> set[str]:
    """Returns the names in a folder, without hidden ones and those that file systems create."""
    return {name for name in _names(folder) if not (name.startswith(".") or name == "lost+found")}


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigurationError(f"cannot read the folder `{folder}`: {error.strerror}") from error


def _unknown(location: str, folder: Path, entries: Collection[str]) -> str:
    named = [f"`{name}`" for name in sorted(entries)[:_MAX_NAMED]]
    if len(entries) > _MAX_NAMED:
        named.append(f"{len(entries) - _MAX_NAMED} more")
    holding = next(
        (name for name in sorted(entries) if _is_store(folder / name) or _is_store(folder / name / _TRACES)), ""
    )
    advice = (
        f"`{folder / holding}` holds a store, pass that"
        if holding
        else "pass a data folder, the folder of a store, or a new or empty folder"
    )
    return f"expected traces in `{location}`, found {', '.join(named)}: {advice}"
