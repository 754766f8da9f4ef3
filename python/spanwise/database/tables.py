"""The tables of the runs database, the same for SQLite and PostgreSQL, and conversions between records and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    text,
)
from sqlalchemy.types import TypeDecorator

from spanwise.database.checksums import CHECKSUM, verified
from spanwise.database.records import RunRecord, SessionRecord
from spanwise.errors import BadRequestError, RecordDamagedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Dialect, Row

FORMAT = 3
"""The version of the tables. Version 2 is upgraded. Any other version is rejected and never changed."""

MAX_ID_BYTES = 1024


class Id(TypeDecorator[str]):
    """Text that is compared by code point, independent of the collation of the database."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:  # noqa: ANN401  # a type of that dialect
        """Returns a string type that compares bytes."""
        return dialect.type_descriptor(String(collation="C") if dialect.name == "postgresql" else String())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        """Rejects text that one of the databases cannot hold, so that all databases accept the same text.

        Raises:
            BadRequestError: the text is too long, or contains NUL or a lone surrogate.
        """
        if value is None:
            return None
        length = len(value.encode("utf-8", "surrogatepass"))
        if length > MAX_ID_BYTES or "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
            raise BadRequestError(f"an id or name is text of at most {MAX_ID_BYTES} bytes, without NUL")
        return value


class Blob(LargeBinary):
    """Bytes as the driver returns them. SQLAlchemy would turn a number, which a damaged row may contain, into zeros."""

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Returns no conversion."""


_Number = BigInteger().with_variant(Integer(), "sqlite")

tables = MetaData()
sessions = Table(
    "sessions",
    tables,
    Column("owner", Id, primary_key=True),
    Column("session_id", Id, primary_key=True),
    Column("is_first", Boolean, nullable=False),
    Column("kind", Id, nullable=False),
    Column("component_id", Id),
    Column("name", Id, nullable=False),
    Column("folded_name", Id, nullable=False),
    Column("state", Blob, nullable=False),
    Column("metadata", Blob, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column(CHECKSUM, BigInteger, nullable=False, server_default=text("0")),
    Index("sessions_by_id", "session_id"),
    Index("sessions_by_start", "created_at", "session_id", "owner"),
    Index("sessions_by_change", "updated_at", "session_id", "owner"),
    Index("sessions_by_name", "name", "session_id", "owner"),
    Index("sessions_by_owner", "owner", "created_at", "session_id"),
)
runs = Table(
    "runs",
    tables,
    Column("number", _Number, Identity(), primary_key=True),
    Column("run_id", Id, nullable=False, unique=True),
    Column("owner", Id, nullable=False, server_default=text("''")),
    Column("session_id", Id, nullable=False),
    Column("user_id", Id),
    Column("keeps_session", Boolean),
    Column("kind", Id, nullable=False),
    Column("component_id", Id, nullable=False),
    Column("status", Id, nullable=False),
    Column("message", Blob, nullable=False),
    Column("result", Blob, nullable=False),
    Column("paused", Blob, nullable=False),
    Column("trace", Blob, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column(CHECKSUM, BigInteger, nullable=False, server_default=text("0")),
    Index("runs_by_owner_and_session", "owner", "session_id", "number"),
    Index("runs_by_status", "status"),
)
events = Table(
    "events",
    tables,
    Column("run_id", Id, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("name", Id, nullable=False),
    Column("body", Blob, nullable=False),
    Column(CHECKSUM, BigInteger, nullable=False, server_default=text("0")),
)
_JSON = {"state", "metadata", "message", "result", "paused", "trace"}
"""Columns that are encoded as JSON."""
_INTERNAL = {"number", "folded_name"}
"""Columns without a member in the record."""


def row_of(record: SessionRecord | RunRecord) -> dict[str, Any]:
    """Returns the columns of a record, including columns that only the table has.

    The caller adds the checksum.

    Raises:
        RecordDamagedError: the record is damaged; its row stays unchanged.
    """
    values = {name: _stored(name, value) for name, value in msgspec.structs.asdict(record).items()}
    if values.pop("is_damaged"):
        raise RecordDamagedError("a damaged record of the database of runs cannot be changed: delete its session")
    if isinstance(record, SessionRecord):
        values |= {"owner": values.pop("user_id") or "", "folded_name": folded(record.name)}
    return values


def session_of(row: Row[Any]) -> SessionRecord:
    """Returns the session in a row.

    Raises:
        RecordDamagedError: the row is damaged.
    """
    members = _members(verified(sessions, row))
    return SessionRecord(user_id=members.pop("owner") or None, **members)


def listed_session_of(row: Row[Any]) -> SessionRecord:
    """Returns the session in a row, without its state. The state is only checked for valid JSON.

    Raises:
        RecordDamagedError: the row is damaged.
        ValueError: the state is neither an object nor null.
    """
    values = verified(sessions, row)
    state = msgspec.json.decode(values["state"], type=msgspec.Raw)
    if bytes(memoryview(state)[:1]) not in (b"{", b"n"):
        raise ValueError("`state` is neither an object nor null")
    members = _members({**values, "state": b"null"})
    return SessionRecord(user_id=members.pop("owner") or None, **members)


def run_of(row: Row[Any]) -> RunRecord:
    """Returns the run in a row.

    Raises:
        RecordDamagedError: the row is damaged.
    """
    return RunRecord(**_members(verified(runs, row)))


def raw_run_of(row: Row[Any]) -> RunRecord:
    """Returns the run in a row, without decoding the members of its result. Members that are null are left out.

    Decoded members would take several times the memory.

    Raises:
        RecordDamagedError: the row is damaged.
    """
    values = verified(runs, row)
    members: dict[str, msgspec.Raw] = msgspec.json.decode(values.pop("result"), type=dict[str, msgspec.Raw])
    result = {name: value for name, value in members.items() if bytes(value) != b"null"}
    return RunRecord(result=result, **_members(values))


def folded(name: str) -> str:
    """Returns the search form of a name, which ignores case."""
    return name.casefold()


def _stored(name: str, value: object) -> object:
    return msgspec.json.encode(value) if name in _JSON else value


def _members(values: Mapping[str, Any]) -> dict[str, Any]:
    public = {name: value for name, value in values.items() if name not in _INTERNAL}
    return {name: msgspec.json.decode(value) if name in _JSON else value for name, value in public.items()}
