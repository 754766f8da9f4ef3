"""Checksums of rows, by which a row that was damaged on disk is found when it is read.

The checksum of a row covers the name of its table and all its other columns but `number`, which the database assigns.
It is 64 bits of BLAKE2b (RFC 7693) over their MessagePack encoding.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise.errors import RecordDamagedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Row, Table

CHECKSUM = "checksum"
"""The column."""
_UNCOVERED = {CHECKSUM, "number"}
_BYTES = 8
_OF_NO_TEXT = -1
"""Stands for the checksum of a row with a text that cannot be stored, so it is none that was stored."""
_SHOWN_CHARACTERS = 128
_KEYS = {"sessions": ("owner", "session_id"), "runs": ("run_id",), "events": ("run_id", "position")}
"""The columns that name a row to people."""


def with_checksum(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns of a whole row with its checksum.

    Args:
        table: the table of the row.
        values: its columns, by name.
    """
    return {**values, CHECKSUM: _checksum(table, values)}


def verified(table: Table, row: Row[Any]) -> dict[str, Any]:
    """Returns the columns of a whole row, by name, without its checksum.

    Args:
        table: the table of the row.
        row: all its columns.

    Raises:
        RecordDamagedError: the row is not as it was stored; the message names it.
    """
    values: dict[str, Any] = dict(row._mapping)  # noqa: SLF001  # SQLAlchemy's public name for it
    stored = values.pop(CHECKSUM)
    if stored != _checksum(table, values):
        raise RecordDamagedError(name_of(table, row))
    return values


def name_of(table: Table, row: Row[Any]) -> str:
    """Returns the message about a damaged row, with its key."""
    values = row._mapping  # noqa: SLF001  # SQLAlchemy's public name for it
    key = "`, `".join(str(values[name])[:_SHOWN_CHARACTERS] for name in _KEYS[table.name])
    return f"a row of {table.name} in the database of runs is damaged: `{key}`"


def _checksum(table: Table, values: Mapping[str, Any]) -> int:
    names = [str(column.name) for column in table.columns if column.name not in _UNCOVERED]
    # A Boolean of SQLite is a number, and so is one that was read with it.
    covered = [int(found) if isinstance(found, bool) else found for found in (values.get(name) for name in names)]
    try:
        encoded = msgspec.msgpack.encode([str(table.name), names, covered])
    except UnicodeEncodeError:
        return _OF_NO_TEXT
    return int.from_bytes(blake2b(encoded, digest_size=_BYTES).digest(), "big", signed=True)
