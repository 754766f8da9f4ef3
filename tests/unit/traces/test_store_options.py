"""Opening a store logs warnings about its problems."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from spanwise.errors import StoreDamagedError
from spanwise.settings import Settings
from spanwise.traces.store_options import open_store
from support.clients.otlp import export_request

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("data_mode", "store_mode", "named"),
    [(0o700, 0o700, []), (0o755, 0o700, []), (0o777, 0o700, ["data"]), (0o700, 0o755, ["traces"])],
)
def test_a_folder_that_is_open_to_others_is_named_with_its_mode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data_mode: int, store_mode: int, named: list[str]
) -> None:
    data_dir = tmp_path / "data"
    (data_dir / "traces").mkdir(parents=True)
    (data_dir / "traces").chmod(store_mode)
    data_dir.chmod(data_mode)
    settings = Settings(data_dir=str(data_dir))
    with caplog.at_level(logging.WARNING):
        open_store(settings.trace_store, settings).close()
    folders = {"data": (data_dir, data_mode), "traces": (data_dir / "traces", store_mode)}
    expected = [
        f"other users can access the data folder `{folder}`: its mode is {mode:04o}, expected 0700"
        for folder, mode in (folders[name] for name in named)
    ]
    assert caplog.messages == expected


def test_a_damaged_log_is_opened_with_recover_only_and_what_is_lost_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data" / "traces"
    store = TraceStore.open(str(folder))
    for number in (1, 2):
        store.ingest(export_request(f"{number:032x}", "00000000000000a1"), "application/json")
    store.close()
    damaged = max((folder / "wal").iterdir())
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    settings = Settings(data_dir=str(tmp_path / "data"))
    with pytest.raises(StoreDamagedError, match=damaged.name):
        open_store(settings.trace_store, settings)
    recovering = Settings(data_dir=str(tmp_path / "data"), recover=True)
    for each in (recovering, settings):
        caplog.clear()
        open_store(each.trace_store, each).close()
        assert len(caplog.messages) == 1
        assert f"`wal/{damaged.name}` is damaged" in caplog.text
        assert "lost requests: 1, with spans of 1 traces that are known" in caplog.text
        assert f"{2:032x}" in caplog.text
