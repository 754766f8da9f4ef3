"""What a scan takes at least: the bytes of the columns that a query reads, at the speed of the memory.

No engine that looks at every row can be faster, however good its code is; an index can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from spanwise.bench.peers import Expression, Query

_CODE_BYTES = (1, 2, 4)


class ScanBytes:
    """The bytes of each column in the smallest form that a scan can read without an index."""

    def __init__(self, rows: pa.Table) -> None:
        """Takes the columns as Arrow has them, or as codes of as few bytes as their values need, with the values."""
        self._columns = {name: _least_bytes(rows[name]) for name in rows.column_names}

    def of(self, query: Query) -> int:
        """Returns the bytes of the columns that the filter reads, and of those that the order of the page needs."""
        ordered = {"start_time", query.sort.key} | ({"session_id"} if query.group_by == "session" else set())
        return sum(self._columns[key] for key in ordered | set(fields_of(query.whole_filter)))


def fields_of(expression: Expression) -> Iterator[str]:
    """Yields the fields that an expression reads."""
    if "key" in expression:
        yield str(expression["key"])
    for part in cast("Sequence[Expression]", expression.get("conditions", ())):
        yield from fields_of(part)
    if "condition" in expression:
        yield from fields_of(cast("Expression", expression["condition"]))


def _least_bytes(column: pa.ChunkedArray) -> int:
    values = column.unique()
    code = next(size for size in _CODE_BYTES if len(values) <= 1 << 8 * size)
    return min(int(column.nbytes), code * len(column) + int(values.nbytes))
