"""Captured OTLP requests of real programs, byte for byte, in order of arrival.

`captures.zip` contains the files in `tests/otlp` that are not derived from others, and their manifest.
`python -m spanwise.demo.captures <folder>` creates it from such a folder.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

_ARCHIVE = "captures.zip"
_MANIFEST = "manifest.json"


class Capture(NamedTuple):
    """One captured request and its headers."""

    file: str
    content_type: str
    content_encoding: str
    spans: int
    body: bytes


class _CapturedFile(msgspec.Struct):
    file: str
    framework: str
    case: str
    derived: bool
    content_type: str
    content_encoding: str
    spans: int
    trace_ids: list[str]


class _Manifest(msgspec.Struct):
    files: list[_CapturedFile]


@cache
def _archive() -> ZipFile:
    return ZipFile(BytesIO((files(__package__) / _ARCHIVE).read_bytes()))


def _read_manifest(text: bytes) -> list[_CapturedFile]:
    return [file for file in msgspec.json.decode(text, type=_Manifest).files if not file.derived]


def captures() -> Iterator[Capture]:
    """Yields every captured request."""
    archive = _archive()
    for file in _read_manifest(archive.read(_MANIFEST)):
        yield Capture(file.file, file.content_type, file.content_encoding, file.spans, archive.read(file.file))


def trace_ids(framework: str, case: str) -> list[str]:
    """Returns the ids of the traces of one captured case, in order of arrival."""
    found = _read_manifest(_archive().read(_MANIFEST))
    ids = [trace for file in found if (file.framework, file.case) == (framework, case) for trace in file.trace_ids]
    return list(dict.fromkeys(ids))


def write_archive(folder: Path, archive: Path) -> None:
    """Creates `archive` from a folder of captures and its manifest."""
    manifest = (folder / _MANIFEST).read_bytes()
    # Storing is better than compressing here. The wheel compresses all files together, to half the size.
    with ZipFile(archive, "w", ZIP_STORED) as target:
        # A fixed date makes the archive reproducible.
        target.writestr(ZipInfo(_MANIFEST), manifest)
        for file in _read_manifest(manifest):
            target.writestr(ZipInfo(file.file), (folder / file.file).read_bytes())


if __name__ == "__main__":
    write_archive(Path(sys.argv[1]), Path(__file__).with_name(_ARCHIVE))
