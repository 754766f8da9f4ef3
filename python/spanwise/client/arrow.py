"""Traces as an Arrow table with the columns of a trace store.

Source: `docs/reference/filter.md#fields`.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, get_args

from spanwise.client.search_spec import CostName, CountName

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from spanwise.api.traces import TracePreview

_TEXTS = (
    "status",
    "user_id",
    "agent_id",
    "team_id",
    "workflow_id",
    "session_id",
    "name",
    "service",
    "environment",
    "release",
)
_IDS = ("run_id", "trace_id")
_TIMES = ("start_time", "end_time", "created_at")
_COUNTS = get_args(CountName)
_DOLLARS = get_args(CostName)


def schema() -> pa.Schema:
    """Returns the schema of a table of traces, with a column for each filter field that traces store.

    Repeated texts are dictionary-encoded. Times are in microseconds in UTC, costs in US dollars.
    """
    import pyarrow as pa  # noqa: PLC0415  # takes a quarter of a second

    coded = pa.dictionary(pa.int32(), pa.string())
    types = (
        dict.fromkeys(_TEXTS, coded)
        | dict.fromkeys(_IDS, pa.string())
        | {"duration_ms": pa.int64()}
        | dict.fromkeys(_TIMES, pa.timestamp("us", "UTC"))
        | dict.fromkeys(_COUNTS, pa.int64())
        | dict.fromkeys(_DOLLARS, pa.float64())
    )
    return pa.schema(list(types.items()))


def batch_of(traces: Sequence[TracePreview]) -> pa.RecordBatch:
    """Returns traces as a record batch with the columns of `schema`."""
    import pyarrow as pa  # noqa: PLC0415

    shape = schema()
    starts, ends = (_instants(traces, key) for key in ("start_time", "end_time"))
    columns: dict[str, pa.Array] = {}
    for field in shape:
        if field.name == "duration_ms":
            pairs = zip(starts.cast(pa.int64()).to_pylist(), ends.cast(pa.int64()).to_pylist(), strict=True)
            columns[field.name] = pa.array([(end - start) // 1_000 for start, end in pairs], pa.int64())
        elif field.name in _TIMES:
            columns[field.name] = _instants(traces, field.name)
        else:
            columns[field.name] = _column(traces, field)
    return pa.record_batch(list(columns.values()), schema=shape)


def table_of(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Returns one table of all record batches, with one dictionary for each text column."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.Table.from_batches(list(batches), schema()).unify_dictionaries()


def _column(traces: Sequence[TracePreview], field: pa.Field) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415

    values = [getattr(trace, field.name) for trace in traces]
    is_coded = pa.types.is_dictionary(field.type)
    return pa.array(values, pa.string()).dictionary_encode() if is_coded else pa.array(values, field.type)


def _instants(traces: Sequence[TracePreview], key: str) -> Any:  # noqa: ANN401  # an array of PyArrow
    import pyarrow as pa  # noqa: PLC0415

    texts = pa.array([getattr(trace, key) for trace in traces], pa.string())
    return texts.cast(pa.timestamp("us", str(UTC)))
