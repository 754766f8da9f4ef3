"""Records for damaged rows. They show the identity of the row but not its contents."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from spanwise.database.checksums import name_of
from spanwise.database.records import KINDS, STATUSES, RunRecord, SessionRecord
from spanwise.errors import RecordDamagedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Row, Table

Record = TypeVar("Record", SessionRecord, RunRecord)
_log = logging.getLogger(__name__)

EVENT = "Damaged"
"""The name of an event that replaces a damaged one."""
TEXT = "the stored event is damaged"
_TEXT, _OBJECT = (str, type(None)), (dict, type(None))
_TIMES = [("created_at", int), ("updated_at", int)]
_TYPES: dict[str, list[tuple[str, Any]]] = {
    "sessions": [
        *_TIMES,
        ("session_id", str),
        ("name", str),
        ("component_id", _TEXT),
        ("metadata", dict),
        ("state", (dict, type(None))),
    ],
    "runs": [*_TIMES, ("run_id", str), ("component_id", str), ("message", str), ("result", dict), ("trace", dict)],
}
"""The types of columns that a driver or JSON may return as another type."""
_MAX_SECONDS = 253_402_300_799
"""The end of the year 9999, the last time that can be shown."""


def intact(convert: Callable[[Row[Any]], Record], table: Table, row: Row[Any]) -> Record:
    """Returns the record of a row.

    Args:
        convert: returns the record of an intact row.
        table: the table of the row.
        row: all its columns.

    Raises:
        RecordDamagedError: the row is damaged, or no version of this program stores such a row.
    """
    try:
        record = convert(row)
        is_known = record.kind in KINDS and getattr(record, "status", STATUSES[0]) in STATUSES
    except (msgspec.MsgspecError, TypeError, ValueError, AttributeError) as error:
        raise RecordDamagedError(f"{name_of(table, row)} cannot be read: {type(error).__name__}") from error
    if not is_known or not all(isinstance(getattr(record, name, None), kind) for name, kind in _TYPES[table.name]):
        raise RecordDamagedError(f"{name_of(table, row)} has a column of another type, or an unknown kind or status")
    return record


def readable(convert: Callable[[Row[Any]], Record], table: Table, row: Row[Any]) -> Record:
    """Returns the record of a row. A damaged row is logged, and its record is marked. See `intact`."""
    try:
        return intact(convert, table, row)
    except RecordDamagedError as error:
        _log.error("%s; it is marked in responses", error)
    values = row._mapping  # noqa: SLF001  # SQLAlchemy's public name for it
    shown: Any = damaged_run(values) if table.name == "runs" else damaged_session(values)
    return shown  # type: ignore[no-any-return]  # of the type that `convert` returns for this table


def damaged_session(values: Mapping[Any, object]) -> SessionRecord:
    """Returns a session that is marked as damaged.

    Args:
        values: the columns of its row, with any values.
    """
    return SessionRecord(
        session_id=_text(values["session_id"]),
        user_id=_text(values["owner"]) or None,
        is_first=False,
        kind=_kind(values["kind"]),
        component_id=None,
        name="",
        state=None,
        metadata={},
        created_at=_seconds(values["created_at"]),
        updated_at=_seconds(values["updated_at"]),
        is_damaged=True,
    )


def damaged_run(values: Mapping[Any, object]) -> RunRecord:
    """Returns a run that is marked as damaged and cannot be continued.

    Args:
        values: the columns of its row, with any values.
    """
    return RunRecord(
        run_id=_text(values["run_id"]),
        owner=_text(values["owner"]),
        session_id=_text(values["session_id"]),
        user_id=_text(values["user_id"]) or None,
        kind=_kind(values["kind"]),
        component_id=_text(values["component_id"]),
        status="ERROR",
        message="",
        result={},
        paused=None,
        trace={},
        created_at=_seconds(values["created_at"]),
        updated_at=_seconds(values["updated_at"]),
        is_damaged=True,
    )


def damaged_event(run_id: str, position: int) -> tuple[int, str, bytes]:
    """Returns index, name and JSON of an event that replaces a damaged one."""
    body = {"event": EVENT, "run_id": run_id, "event_index": position, "message": TEXT}
    return position, EVENT, msgspec.json.encode(body)


def _text(value: object) -> str:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _kind(value: object) -> str:
    return value if isinstance(value, str) and value in KINDS else KINDS[0]


def _seconds(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= _MAX_SECONDS else 0
