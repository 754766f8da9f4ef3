"""The traces and spans tables that agno keeps in SQLite or PostgreSQL, as a source of spans.

A trace without spans cannot be imported: the row of a trace holds nothing that its spans do not.

Source: agno 2.7.2 to 3.1.10, `agno/tracing/schemas.py`: ids are hexadecimal, times ISO 8601 text, attributes a JSON
object.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from spanwise._engine import otlp_spans
from spanwise.errors import ConfigurationError
from spanwise.traces.bulk_import.source import RejectedSpans, with_created_at
from spanwise.traces.otlp import CONTENT_TYPE, attributes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TRACES_TABLE = "agno_traces"
SPANS_TABLE = "agno_spans"

_SCOPE = "openinference.instrumentation.agno"
"""The scope of agno's instrumentation, which the tables do not keep; its spans are read as those that it exports."""
_FETCHED_ROWS = 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_STATUSES = {"OK": 1, "ERROR": 2}
_TRACE_COLUMNS = ("trace_id", "created_at")
_SPAN_COLUMNS = (
    "trace_id",
    "span_id",
    "parent_span_id",
    "name",
    "span_kind",
    "status_code",
    "status_message",
    "start_time",
    "end_time",
    "attributes",
)


@dataclass
class AgnoDatabase:
    """The tables of one database; a `Source`.

    Attributes:
        url: its SQLAlchemy URL.
        traces_table: the table with one row for each trace.
        spans_table: the table with one row for each span.
        schema: the schema of both tables, for databases that have schemas.
        rejected: what was found unusable so far.
    """

    url: str
    traces_table: str = TRACES_TABLE
    spans_table: str = SPANS_TABLE
    schema: str | None = None
    rejected: list[RejectedSpans] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Connects, checks the tables and counts the spans.

        Raises:
            ConfigurationError: there is no such database or table, or a column is missing.
        """
        self.name = "the database"
        try:
            url = sa.make_url(self.url)
            self.name = url.render_as_string(hide_password=True)
            self._engine = sa.create_engine(url, poolclass=sa.NullPool)
            self._traces = self._table(self.traces_table, _TRACE_COLUMNS)
            self._spans = self._table(self.spans_table, _SPAN_COLUMNS)
            with self._engine.connect() as connection:
                count = connection.execute(sa.select(sa.func.count()).select_from(self._spans)).scalar_one()
        except (SQLAlchemyError, ImportError) as error:
            raise ConfigurationError(f"cannot read {self.name}: {_first_line(error)}") from error
        self.size: int = count

    @property
    def fingerprint(self) -> None:
        """Returns None: agno may write while the tables are read. Importing the same spans again is harmless."""
        return

    def batches(self, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Yields the spans as batches of `SCHEMA`, ordered by trace.

        Args:
            advance: called with the number of spans read since the last call.
        """
        spans, traces = self._spans, self._traces
        joined_tables = spans.outerjoin(traces, spans.c.trace_id == traces.c.trace_id)
        columns = [spans.c[name] for name in _SPAN_COLUMNS]
        query = sa.select(*columns, traces.c.created_at.label("trace_created_at")).select_from(joined_tables)
        query = query.order_by(spans.c.trace_id, spans.c.span_id).execution_options(yield_per=_FETCHED_ROWS)
        try:
            with self._engine.connect() as connection:
                for rows in connection.execute(query).mappings().partitions(_FETCHED_ROWS):
                    yield from self._batches(rows)
                    advance(len(rows))
                self._reject_empty_traces(connection)
        except SQLAlchemyError as error:
            self.rejected.append(RejectedSpans(self.name, _first_line(error)))
        finally:
            self._engine.dispose()

    def _batches(self, rows: Sequence[sa.RowMapping]) -> Iterator[pa.RecordBatch]:
        usable = []
        for row in rows:
            try:
                created_at = _micros(row["trace_created_at"]) if row["trace_created_at"] else None
                usable.append((row, _span(row), created_at))
            except (ValueError, TypeError) as error:
                self._reject(row, str(error))
        batch, rejected, reason = otlp_spans(_otlp_request([span for _, span, _ in usable]), CONTENT_TYPE)
        if not rejected:
            yield with_created_at(pa.record_batch(batch), [created_at for _, _, created_at in usable])
        elif len(usable) == 1:
            self._reject(rows[0], reason)
        else:  # the engine does not say which spans it rejected: try each alone
            for row, _, _ in usable:
                yield from self._batches([row])

    def _reject(self, row: sa.RowMapping, reason: str) -> None:
        where = f"{self.name}, span `{row['span_id']}` of trace `{row['trace_id']}`"
        self.rejected.append(RejectedSpans(where, reason, 1))

    def _reject_empty_traces(self, connection: sa.Connection) -> None:
        spans, traces = self._spans, self._traces
        has_spans = sa.exists().where(spans.c.trace_id == traces.c.trace_id)
        count = connection.execute(sa.select(sa.func.count()).select_from(traces).where(~has_spans)).scalar_one()
        if count:
            self.rejected.append(RejectedSpans(self.name, f"{count} traces without spans", count))

    def _table(self, name: str, columns: tuple[str, ...]) -> sa.Table:
        if not sa.inspect(self._engine).has_table(name, schema=self.schema):
            raise ConfigurationError(f"expected a table `{name}` in {self.name}, found none")
        metadata = sa.MetaData()
        table = sa.Table(name, metadata, schema=self.schema, autoload_with=self._engine, resolve_fks=False)
        missing = [column for column in columns if column not in table.c]
        if missing:
            raise ConfigurationError(f"expected a column `{missing[0]}` in table `{name}` of {self.name}, found none")
        return table


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _span(row: sa.RowMapping) -> dict[str, Any]:
    """Returns a row as an OTLP/JSON span."""
    attributes = row["attributes"]
    if isinstance(attributes, str | bytes):
        attributes = msgspec.json.decode(attributes)
    if not isinstance(attributes, dict | None):
        raise TypeError(f"expected `attributes` to be an object, got `{type(attributes).__name__}`")
    span = {
        "traceId": row["trace_id"],
        "spanId": row["span_id"],
        "name": row["name"],
        "kind": _KINDS.get(row["span_kind"], 0),
        "startTimeUnixNano": str(_micros(row["start_time"]) * 1000),
        "endTimeUnixNano": str(_micros(row["end_time"]) * 1000),
        "attributes": attributes_of({key: value for key, value in (attributes or {}).items() if value is not None}),
        "status": {"code": _STATUSES.get(row["status_code"], 0), "message": row["status_message"] or ""},
    }
    if row["parent_span_id"]:
        span["parentSpanId"] = row["parent_span_id"]
    return span


def _micros(text: str) -> int:
    """Returns an ISO 8601 time in microseconds since 1970; a time without an offset is UTC."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    since = instant - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _otlp_request(spans: list[dict[str, Any]]) -> bytes:
    return msgspec.json.encode({"resourceSpans": [{"scopeSpans": [{"scope": {"name": _SCOPE}, "spans": spans}]}]})
