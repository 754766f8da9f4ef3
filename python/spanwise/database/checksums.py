"""Row checksums, which detect rows that were damaged on disk.

The checksum of a row covers its table name and all its other columns except `number`, which the database assigns. It is
64 bits of BLAKE2b (RFC 7693) over their MessagePack encoding.
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
"""The checksum column."""
_UNCOVERED = {CHECKSUM, "number"}
_BYTES = 8
_OF_NO_TEXT = -1
"""Stands for the checksum of text that cannot be stored. It equals no stored checksum."""
_SHOWN_CHARACTERS = 128
_KEYS = {"sessions": ("owner", "session_id"), "runs": ("run_id",), "events": ("run_id", "position")}
"""The columns that identify a row in messages."""


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
        RecordDamagedError: the row has another checksum; the message names the row.
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
    # SQLite returns Booleans as numbers, so the checksum covers them as numbers.
    covered = [int(found) if isinstance(found, bool) else found for found in (values.get(name) for name in names)]
    try:
        encoded = msgspec.msgpack.encode([str(table.name), names, covered])
    except UnicodeEncodeError:
        return _OF_NO_TEXT
    return int.from_bytes(blake2b(encoded, digest_size=_BYTES).digest(), "big", signed=True)
