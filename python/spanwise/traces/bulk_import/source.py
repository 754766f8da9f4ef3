"""The sources of an import: the protocol, the columns that a source yields, and its rejections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from spanwise._engine import import_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SCHEMA: pa.Schema = pa.schema(import_schema())
"""The schema of the batches that a source yields: encoded spans with their resource and scope.

The other columns of an export are derived from these. Files of other writers may lack every one but `span`.
"""


@dataclass(frozen=True)
class RejectedSpans:
    """Spans that were not imported, and the reason.

    Attributes:
        where: the file or database, and the position in it if known.
        reason: the reason, for people.
        count: the number of spans, or of the `unit`; 0 for an unreadable file.
        unit: `span`; or `line` or `message`, whose spans are unknown.
    """

    where: str
    reason: str
    count: int = 0
    unit: str = "span"


class Source(Protocol):
    """A file or database that contains spans.

    Attributes:
        name: its name, for people.
        size: the amount to read, in a unit of its own.
    """

    name: str
    size: int

    @property
    def rejected(self) -> Sequence[RejectedSpans]:
        """Returns the rejections so far."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """Returns the number of messages of each other signal so far, such as `metrics`."""

    @property
    def fingerprint(self) -> str | None:
        """Returns a text that identifies this content; None if it may change during the import."""

    def batches(self, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Yields the spans as batches of `SCHEMA`.

        Args:
            advance: called with the amount read since the last call, in the unit of `size`.
        """


def conform(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch of encoded spans with exactly the columns of `SCHEMA`; missing ones are null.

    Raises:
        pyarrow.ArrowException: a column cannot be cast to its type.
    """
    columns = [_column(batch, field) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        missing = [None] * batch.num_rows
        return pa.array(missing, field.type)
    column = batch.column(field.name)
    if column.type == field.type:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_dictionary(field.type):
        return column.cast(field.type.value_type).dictionary_encode()
    return column.cast(field.type)
