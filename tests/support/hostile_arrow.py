"""Arrow and Parquet files with false metadata."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 7
COLUMNS = ("trace_id", "span_id", "name", "start_time", "attributes")
TEXT = pa.string()


def columns(**others: pa.Array) -> dict[str, pa.Array]:
    """Returns spans in columns. `others` replaces some of them."""
    spans = {
        "trace_id": pa.array([f"{number + 1:032x}" for number in range(ROWS)]),
        "span_id": pa.array([f"{number + 1:016x}" for number in range(ROWS)]),
        "name": pa.array([f"span {number}" for number in range(ROWS)]),
        "start_time": pa.array(range(1, ROWS + 1)),
    }
    return {**spans, **others}


def encoded(**others: pa.Array) -> dict[str, pa.Array]:
    """Returns encoded spans. `others` replaces some columns."""
    spans = [b"\x0a\x10" + bytes([number + 1] * 16) + b"\x12\x08" + bytes([number + 1] * 8) for number in range(ROWS)]
    return {"span": pa.array(spans), **others}


def ipc(batch: dict[str, pa.Array], *, is_file: bool, compression: str | None = None) -> bytes:
    """Returns a batch as an Arrow IPC file or stream."""
    table = pa.record_batch(batch)
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    writer = (pa.ipc.new_file if is_file else pa.ipc.new_stream)(sink, table.schema, options=options)
    with writer:
        writer.write_batch(table)
    return sink.getvalue()


def patched(content: bytes, old: bytes, new: bytes) -> bytes:
    """Returns `content` with its only occurrence of `old` replaced by `new`."""
    assert content.count(old) == 1, (content.count(old), old)
    assert len(old) == len(new)
    return content.replace(old, new)


def _integers(form: str, numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}{form}", *numbers)


def _with_integer(form: str, numbers: list[int], at: int, number: int) -> tuple[bytes, bytes]:
    changed = list(numbers)
    changed[at] = number
    return _integers(form, numbers), _integers(form, changed)


def bad_offsets() -> Iterator[tuple[str, dict[str, pa.Array], bytes, bytes]]:
    """Yields a name, the columns of a valid batch, and bytes in it with their replacement, for every kind of column."""
    # These lengths are unique to the column, so that its offsets can be located.
    texts = ["x" * (number + 3) for number in range(ROWS)]
    ends = [sum(map(len, texts[:count])) for count in range(ROWS + 1)]
    places = {"first": 0, "middle": ROWS // 2, "last": ROWS}
    numbers = {"negative": -5, "far": 2**31 - 1, "near": ends[-1] + 999}
    narrow = {"name": pa.array(texts), "binary span": pa.array([text.encode() for text in texts])}
    for kind, column in narrow.items():
        batch = encoded(span=column) if kind == "binary span" else columns(name=column)
        for place, at in places.items():
            for number, value in numbers.items():
                yield f"{kind}, {place} offset {number}", batch, *_with_integer("i", ends, at, value)
    wide = columns(name=pa.array(texts, pa.large_string()))
    for number, value in {"negative": -5, "far": 2**62}.items():
        for place, at in places.items():
            yield f"large name, {place} offset {number}", wide, *_with_integer("q", ends, at, value)
    lists = pa.array([[{"name": "e", "time": 1}] * (number + 11) for number in range(ROWS)])
    list_ends = [sum(range(11, 11 + count)) for count in range(ROWS + 1)]
    maps = pa.array([[("k", "v")] * (number + 11) for number in range(ROWS)], pa.map_(TEXT, TEXT))
    for kind, batch in {"list": columns(events=lists), "map": columns(attributes=maps)}.items():
        for place, at in places.items():
            yield f"{kind}, {place} offset far", batch, *_with_integer("i", list_ends, at, 2**30)
            yield f"{kind}, {place} offset negative", batch, *_with_integer("i", list_ends, at, -7)


def bad_keys() -> Iterator[tuple[str, dict[str, pa.Array], bytes, bytes]]:
    """Yields the same for dictionary keys and for views."""
    keys = [0, 1, 1, 0, 1, 0, 1]
    coded = pa.DictionaryArray.from_arrays(pa.array(keys, pa.int32()), pa.array(["left", "right"]))
    binary = pa.DictionaryArray.from_arrays(pa.array(keys, pa.int32()), pa.array([b"\x0a\x00", b"\x0a\x01a"]))
    for kind, batch in {
        "name": columns(name=coded),
        "resource": encoded(resource=binary),
        "span": encoded(span=binary),
        "attributes": columns(attributes=coded),
    }.items():
        for name, key in {"negative": -1, "far": 2**31 - 1, "near": 2}.items():
            yield f"dictionary of {kind}, key {name}", batch, *_with_integer("i", keys, 3, key)
    long = [f"a name that is longer than a view can hold, {number}" for number in range(ROWS)]
    views = columns(name=pa.array(long, pa.string_view()))
    spans = encoded(span=pa.array([each.encode() for each in long], pa.binary_view()))
    begin = len(long[0])
    for kind, batch in {"text": views, "binary": spans}.items():
        view = struct.pack("<i4sii", begin, b"a na", 0, begin)
        for name, length, buffer, offset in [
            ("length", 2**30, 0, begin),
            ("negative length", -9, 0, begin),
            ("buffer", begin, 77, begin),
            ("negative buffer", begin, -1, begin),
            ("offset", begin, 0, 2**30),
            ("negative offset", begin, 0, -4),
        ]:
            yield f"view of {kind}, {name}", batch, view, struct.pack("<i4sii", length, b"a na", buffer, offset)


def bad_arrow() -> Iterator[tuple[str, bytes]]:
    """Yields the names and contents of invalid Arrow files, as streams and as files."""
    for name, batch, old, new in [*bad_offsets(), *bad_keys()]:
        for is_file in (False, True):
            yield f"{name}, {'file' if is_file else 'stream'}", patched(ipc(batch, is_file=is_file), old, new)
    for name, batch in {"columns": columns(), "encoded": encoded()}.items():
        content = ipc(batch, is_file=False)
        # The length of the batch and of each column claims more rows than the buffers hold.
        for rows in (2**20, 2**40, 2**62, -1):
            changed = content.replace(_integers("q", [ROWS]), _integers("q", [rows]))
            assert changed != content
            yield f"{name} of {rows} rows", changed
        for cut in (1, 9, 40, 200):
            yield f"{name}, cut by {cut}", content[:-cut]
        yield f"{name}, metadata of 2 GB", content[:4] + struct.pack("<i", 2**31 - 8) + content[8:]
    invalid = ipc(columns(name=pa.array(["n\u00e4me"] * ROWS)), is_file=False)
    yield "no UTF-8", invalid.replace("\u00e4".encode(), b"\xff\xff")
    nothing = {name: pa.nulls(5) for name in COLUMNS}
    content = ipc(nothing, is_file=False)
    yield "2**60 rows of nothing", content.replace(_integers("q", [5]), _integers("q", [2**60]))
    declared = ipc(columns(name=pa.array(["x" * 4000] * ROWS)), is_file=False, compression="zstd")
    length = _integers("q", [4000 * ROWS])
    for bytes_ in (2**32, 2**40, 2**62, -9):
        yield f"a buffer of {bytes_} bytes once decompressed", declared.replace(length, _integers("q", [bytes_]))


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    defaults = {"compression": "zstd", "compression_level": 19, "write_statistics": False, "store_schema": False}
    pq.write_table(table, sink, **{**defaults, **options})
    return sink.getvalue()


def parquet_bombs() -> Iterator[tuple[str, bytes]]:
    """Yields the names and contents of small Parquet files that expand to gigabytes."""
    size, rows = 1024 * 1024, 8192
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([b"x" * size]))
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    wide = {"dictionary_pagesize_limit": 2**30}
    yield "a value that spans share", parquet(pa.table({"span": shared}), **wide)
    # A real file has random ids, which make it larger.
    same = {name: pa.array(["1" * 32] * rows) for name in ("trace_id", "span_id", "name")}
    spans = {**same, "start_time": pa.array(range(rows))}
    yield "a name that rows share", parquet(pa.table({**spans, "name": text}), **wide)
    attributes = pa.MapArray.from_arrays(list(range(rows + 1)), pa.array(["k"] * rows), text)
    yield "an attribute that rows share", parquet(pa.table({**spans, "attributes": attributes}), **wide)
    many = pa.table({name: pa.nulls(3_000_000, TEXT) for name in ("trace_id", "span_id", "name", "start_time")})
    yield "millions of rows of nothing", parquet(many, row_group_size=2**30)
