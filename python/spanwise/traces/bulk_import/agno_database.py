"""The traces and spans tables that agno keeps in SQLite or PostgreSQL, as a source of spans.

A trace without spans cannot be imported, because its row contains only data of its spans.

Source: agno 2.7.2 to 3.1.10, `agno/tracing/schemas.py`: ids are hexadecimal, times ISO 8601 text, attributes a JSON
object.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from spanwise._engine import spans_of_columns
from spanwise.errors import ConfigurationError
from spanwise.traces.bulk_import.source import RejectedSpans, conform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TRACES_TABLE = "agno_traces"
SPANS_TABLE = "agno_spans"

_SCOPE = "openinference.instrumentation.agno"
"""The scope of agno's instrumentation. The tables omit it, and imported spans must read like exported ones."""
_FETCHED_ROWS = 1024
_KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_STATUSES = {"OK": 1, "ERROR": 2}
_TRACE_COLUMNS = ("trace_id", "created_at")
_TEXTS = ("trace_id", "span_id", "parent_span_id", "name", "status_message", "start_time", "end_time")
_SPAN_COLUMNS = (*_TEXTS, "span_kind", "status_code", "attributes")
_Columns: TypeAlias = "dict[str, Sequence[Any]]"
"""The values of rows, by column name."""


@dataclass
class AgnoDatabase:
    """The tables of one database; a `Source`.

    Attributes:
        url: its SQLAlchemy URL.
        traces_table: the table with one row for each trace.
        spans_table: the table with one row for each span.
        schema: the schema of both tables, for databases that have schemas.
        rejected: the rejections so far.
    """

    url: str
    traces_table: str = TRACES_TABLE
    spans_table: str = SPANS_TABLE
    schema: str | None = None
    rejected: list[RejectedSpans] = field(default_factory=list)
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Connects, checks the tables and counts the spans.

        Raises:
            ConfigurationError: the database, a table or a column is missing.
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
        """Returns None because agno may write while the tables are read. Importing the same spans again is harmless."""
        return

    def batches(self, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Yields the spans as batches of `SCHEMA`, ordered by trace.

        Args:
            advance: called with the number of spans read since the last call.
        """
        spans, traces = self._spans, self._traces
        joined_tables = spans.outerjoin(traces, spans.c.trace_id == traces.c.trace_id)
        # The engine parses this text. Otherwise the driver would build Python objects from it.
        attributes = sa.cast(spans.c.attributes, sa.Text).label("attributes")
        columns = [spans.c[name] for name in _SPAN_COLUMNS if name != "attributes"]
        query = sa.select(*columns, attributes, traces.c.created_at.label("created_at")).select_from(joined_tables)
        query = query.order_by(spans.c.trace_id, spans.c.span_id).execution_options(yield_per=_FETCHED_ROWS)
        try:
            with self._engine.connect() as connection:
                result = connection.execute(query)
                names = list(result.keys())
                for rows in result.partitions(_FETCHED_ROWS):
                    yield from self._batches(dict(zip(names, zip(*rows, strict=True), strict=True)))
                    advance(len(rows))
                self._reject_empty_traces(connection)
        except (SQLAlchemyError, pa.ArrowException) as error:
            self.rejected.append(RejectedSpans(self.name, _first_line(error)))
        finally:
            self._engine.dispose()

    def _batches(self, columns: _Columns) -> Iterator[pa.RecordBatch]:
        spans, _, rejected = spans_of_columns(_batch(columns, pa.array(columns["attributes"], pa.string())))
        yield conform(pa.record_batch(spans))
        for position, reason in rejected:
            row = {name: values[position : position + 1] for name, values in columns.items()}
            spans, _, still_rejected = spans_of_columns(_batch(row, _attributes(row)))
            yield conform(pa.record_batch(spans))
            if still_rejected:
                where = f"{self.name}, span `{row['span_id'][0]}` of trace `{row['trace_id'][0]}`"
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


def _batch(columns: _Columns, attributes: pa.Array) -> pa.RecordBatch:
    """Returns rows as the columns of spans that `spans_of_columns` reads."""
    texts = {name: pa.array(columns[name]) for name in _TEXTS}
    coded = {
        "kind": pa.array([_KINDS.get(kind, 0) for kind in columns["span_kind"]]),
        "status": pa.array([_STATUSES.get(status, 0) for status in columns["status_code"]]),
        "scope_name": pa.repeat(_SCOPE, len(attributes)),
        "created_at": pa.array([created_at or None for created_at in columns["created_at"]]),
    }
    return pa.record_batch({**texts, **coded, "attributes": attributes})


def _attributes(row: _Columns) -> pa.Array:
    """Returns the attributes of one row as an object of values.

    Python writes non-finite numbers and lone surrogates, which JSON does not allow.
    """
    text = row["attributes"][0] or "{}"
    try:
        members = {key: pa.array([_printable(value)]) for key, value in json.loads(text).items()}
        # The name of a struct member ends at its first NUL, and a struct without members has no length.
        if not members or any("\0" in key for key in members):
            return pa.array([text])
        return pa.StructArray.from_arrays(list(members.values()), names=list(members))
    except (ValueError, AttributeError, OverflowError, pa.ArrowException):
        return pa.array([text])


def _printable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_printable(each) for each in value]
        case _:
            return value
