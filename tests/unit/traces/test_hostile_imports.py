"""Files with false metadata crash no process, and take only the memory and time of their actual content."""

from __future__ import annotations

import subprocess
import sys
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spanwise.errors import DecodeError
from spanwise.traces.bulk_import import parquet_file
from spanwise.traces.bulk_import.parquet_pages import page_headers
from support.hostile_arrow import bad_arrow, columns, encoded, ipc, parquet, parquet_bombs
from support.paths import TESTS

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 4 * 2**30
"""The address space of the process. Its threads and libraries take a third of it."""


def outcomes(how: str, folder: Path, files: dict[str, bytes]) -> dict[str, str]:
    """Reads files in a separate process, and returns the outcome of each."""
    paths = []
    for number, content in enumerate(files.values()):
        path = folder / f"{number}"
        path.write_bytes(content)
        paths.append(str(path))
    command = [sys.executable, "-m", "support.programs.limited_import", how, str(LIMIT), str(folder / "data")]
    done = subprocess.run([*command, *paths], cwd=TESTS, capture_output=True, text=True, check=False, timeout=600)
    lines = [line.partition(" ")[2] for line in done.stdout.splitlines()]
    found = dict(zip(files, lines, strict=False))
    assert (done.returncode, len(lines)) == (0, len(files)), (list(files)[len(lines)], done.stderr[-2000:])
    return found


ARROW = dict(bad_arrow())


@pytest.mark.parametrize("how", ["command", "stream", "table", "mask"])
def test_invalid_arrow_data_is_an_error(tmp_path: Path, how: str) -> None:
    found = outcomes(how, tmp_path, ARROW)
    if how == "command":
        assert {name for name, outcome in found.items() if outcome != "1"} == set()
    if how in ("stream", "table"):
        assert {outcome for outcome in found.values() if outcome.startswith("b'")} == set()


def test_valid_arrow_data_is_read(tmp_path: Path) -> None:
    files = {
        f"{name} {is_file} {compression}": ipc(batch, is_file=is_file, compression=compression)
        for name, batch in {"columns": columns(), "encoded": encoded()}.items()
        for is_file in (False, True)
        for compression in (None, "zstd", "lz4")
    }
    assert set(outcomes("command", tmp_path, files).values()) == {"0"}


def test_small_files_of_parquet_that_stand_for_gigabytes_are_an_error(tmp_path: Path) -> None:
    files = dict(parquet_bombs())
    assert max(map(len, files.values())) < 64 * 1024
    assert set(outcomes("command", tmp_path, files).values()) == {"1"}


@pytest.mark.parametrize("columns_of", [columns, encoded])
def test_damaged_parquet_ends_no_process(tmp_path: Path, columns_of: object) -> None:
    assert callable(columns_of)
    whole = parquet(pa.table(columns_of()), compression="none", compression_level=None, use_dictionary=True)
    files = {}
    for at in range(4, len(whole)):
        for byte in {0, 0x7F, 0x80, 0xFF, whole[at] ^ 1} - {whole[at]}:
            files[f"byte {at} is {byte}"] = whole[:at] + bytes([byte]) + whole[at + 1 :]
    some = dict(list(files.items())[::7])
    assert set(outcomes("command", tmp_path, some).values()) <= {"0", "1"}


def repeated(piece: bytes, head: bytes = b"") -> bytes:
    """Returns 4 MB of gzip that expand to 4 GB: `head`, then `piece` repeated."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    begin = compressor.compress(head) + compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(piece * (64 * 2**20 // len(piece))) + compressor.flush(zlib.Z_FULL_FLUSH)
    return begin + block * 64


BOMBS = {
    "zeros": (b"\0",),
    "zeros behind an object": (
        b"\0",
        b"{}\n",
    ),
    "spaces": (
        b" ",
        b"{",
    ),
    "brackets": (
        b"[",
        b"[{",
    ),
    "brackets on lines": (
        b"[\n",
        b"[{\n",
    ),
    "a text": (
        b"x",
        b'{"a":"',
    ),
    "lengths of nothing": (
        b"\0\0\0\0",
        b"\0\0\0\1{",
    ),
    "a length without an end": (
        b"\x80",
        b"\x0a",
    ),
    "a length of gigabytes": (
        b"\0",
        b"\x0a\xff\xff\xff\xff\x7f",
    ),
    "empty fields": (
        b"\x0a\0",
        b"\x0a\0",
    ),
    "metadata of Arrow": (
        b"\0",
        b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_gigabytes_of_nothing_in_gzip_are_an_error(tmp_path: Path, name: str) -> None:
    assert outcomes("command", tmp_path, {name: repeated(*BOMBS[name])}) == {name: "1"}


def test_numbers_without_an_end_are_read_once(tmp_path: Path) -> None:
    files = {
        "protobuf": b"\x0a" + b"\x80" * 30_000_000,
        "fields": b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80" * 1_000_000,
        "lines": b"[\n" * 1_000_000,
        "objects": b'{"a":[\n' * 300_000,
    }
    assert set(outcomes("command", tmp_path, files).values()) == {"1"}


def test_rows_that_share_prefixes_are_read_few_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = pa.table({"span": [b"x" * 5000 + b"%d" % number for number in range(500)]})
    content = parquet(spans, use_dictionary=False, column_encoding={"span": "DELTA_BYTE_ARRAY"})
    (tmp_path / "file").write_bytes(content)
    sizes = [batch.num_rows for batch in parquet_file.batches_of_parquet(tmp_path / "file", len(content), print)]
    assert sizes == [500]
    monkeypatch.setattr(parquet_file, "_BATCH_BYTES", 80_000)
    batches = list(parquet_file.batches_of_parquet(tmp_path / "file", len(content), print))
    assert 1 < max(batch.num_rows for batch in batches) < 80_000 // 5000
    assert pa.Table.from_batches(batches) == spans


def test_page_headers_are_those_that_pyarrow_wrote(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([f"{number % 10}" for number in range(50_000)]), "b": pa.array(range(50_000))})
    for version in ("1.0", "2.0"):
        pq.write_table(
            table, tmp_path / "file", data_page_version=version, data_page_size=10_000, row_group_size=20_000
        )
        content = memoryview((tmp_path / "file").read_bytes())
        metadata = pq.read_metadata(tmp_path / "file")
        for group in range(metadata.num_row_groups):
            for index in range(2):
                chunk = metadata.row_group(group).column(index)
                begin = chunk.dictionary_page_offset or chunk.data_page_offset
                pages = list(page_headers(content[begin : begin + chunk.total_compressed_size]))
                assert sum(page.values for page in pages) == chunk.num_values
                assert sum(page.size for page in pages) <= chunk.total_uncompressed_size


@pytest.mark.parametrize("header", [b"\x15", b"\x15\x80", b"\x15" + b"\x80" * 40, b"\x1c" * 100, b"\x19\xfc\xff\xff"])
def test_a_malformed_page_header_is_an_error(header: bytes) -> None:
    with pytest.raises(DecodeError, match="expected Parquet, found"):
        list(page_headers(memoryview(header)))
