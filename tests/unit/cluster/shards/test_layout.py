from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from spanwise._engine import RequestSplitter
from spanwise.cluster.shards.layout import MAX_SHARDS, Layout, open_layout
from spanwise.errors import ConfigurationError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("count", range(1, MAX_SHARDS + 1))
def test_prefixes_cover_every_hash_once_and_differ_by_one_bit_at_most(count: int) -> None:
    prefixes = Layout.of(count).prefixes
    assert len(prefixes) == count
    assert max(map(len, prefixes)) - min(map(len, prefixes)) <= 1
    RequestSplitter(prefixes, 0)


@pytest.mark.parametrize("count", [0, -1, MAX_SHARDS + 1])
def test_another_number_of_shards_is_rejected(count: int) -> None:
    with pytest.raises(ConfigurationError, match="expected 1 to 64 shards"):
        Layout.of(count)


def test_a_layout_is_created_once_whoever_comes_first(tmp_path: Path) -> None:
    layouts: list[Layout] = []
    threads = [threading.Thread(target=lambda: layouts.append(open_layout(str(tmp_path), 4))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(layouts) == 8
    assert len(set(layouts)) == 1
    assert open_layout(str(tmp_path), 2) == layouts[0]
    assert [path.name for path in (tmp_path / "layout").iterdir()] == ["00000000000000000001.json"]


def test_a_program_that_knows_no_shards_opens_no_folder_with_shards(tmp_path: Path) -> None:
    open_layout(str(tmp_path), 2)
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    for open_one in (TraceStore.open, TraceStore.open_read_only):
        with pytest.raises(ConfigurationError, match=r"manifest/00000000000000000001\.json` has format 1000000"):
            open_one(str(tmp_path))
    assert {path for path in tmp_path.rglob("*") if path.is_file()} - {tmp_path / "LOCK"} == files


def test_the_greatest_number_holds(tmp_path: Path) -> None:
    first = open_layout(str(tmp_path), 1)
    (tmp_path / "layout" / "00000000000000000002.json").write_bytes(
        b'{"number":2,"shards":[{"prefix":"0","store":"a"},{"prefix":"1","store":"b"}],"format":1,"hash":"crc32c"}'
    )
    assert (first.number, open_layout(str(tmp_path), 1).number) == (1, 2)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"number":1,"shards":[{"prefix":"0","store":"a"}],"format":1,"hash":"crc32c"}',
        b'{"number":1,"shards":[{"prefix":"","store":"a"}],"format":2,"hash":"crc32c"}',
        b'{"number":1,"shards":[{"prefix":"","store":"a"}],"format":1,"hash":"md5"}',
    ],
)
def test_what_is_no_layout_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "layout").mkdir()
    (tmp_path / "layout" / "00000000000000000001.json").write_bytes(content)
    with pytest.raises(StoreDamagedError, match="is not a layout"):
        open_layout(str(tmp_path), 1)


def test_storage_that_fails_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "layout").write_bytes(b"")
    with pytest.raises(StoreError, match=rf"`{tmp_path}/layout`: .*[Nn]ot a directory"):
        open_layout(str(tmp_path), 1)


def test_a_store_that_is_not_sharded_stays_as_it_is(tmp_path: Path) -> None:
    TraceStore.open(str(tmp_path)).close()
    with pytest.raises(ConfigurationError, match="is not divided"):
        open_layout(str(tmp_path), 2)
