"""Reads the built files of the user interface that are listed in their manifest."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

DIST = Path(__file__).with_name("dist")
PAGE = "index.html"
THIRD_PARTY = "THIRD_PARTY.txt"
"""The licenses of third-party code in the build."""
HASHED_NAMES = "assets/"
"""The folder of the build in which every name contains a hash of the file's content."""
MANIFEST = "manifest.json"


class ManifestEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One built file.

    Attributes:
        path: its path in the folder of the build, with `/` between its parts.
        bytes: its size.
        sha256: the hash of its content, as hexadecimal digits.
    """

    path: str
    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a build, except the manifest itself."""

    files: tuple[ManifestEntry, ...]


@cache
def read_files() -> Mapping[str, bytes]:
    """Returns the contents of the built files by path. They are read once per process.

    Raises:
        ConfigurationError: a file is missing or differs from its manifest entry.
    """
    return read_folder(DIST)


def read_folder(folder: Path) -> Mapping[str, bytes]:
    """Returns the contents of the files in the manifest of `folder`, by path.

    Raises:
        ConfigurationError: a file is missing or differs from its manifest entry.
    """
    manifest = _decode_manifest(_read(folder / MANIFEST))
    contents = {entry.path: _read(folder / entry.path) for entry in manifest.files}
    for entry in manifest.files:
        if sha256(contents[entry.path]).hexdigest() != entry.sha256:
            raise _damaged(f"`{entry.path}` is not the file that {MANIFEST} lists")
    if PAGE not in contents:
        raise _damaged(f"{MANIFEST} does not list `{PAGE}`")
    return MappingProxyType(contents)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _damaged(f"cannot read `{path}`: {error.strerror}") from error


def _decode_manifest(content: bytes) -> Manifest:
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise _damaged(f"{MANIFEST}: {error}") from error


def _damaged(reason: str) -> ConfigurationError:
    return ConfigurationError(f"the user interface is damaged: {reason}; install spanwise again, or run `make ui`")
