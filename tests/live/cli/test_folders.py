"""`spanwise serve` over a store folder, and over a folder with other contents."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from spanwise import TraceStore
from support.clients.otlp import captures
from support.services.process import NO_DEFAULT_PORTS, RunningService

if TYPE_CHECKING:
    from pathlib import Path


def test_the_folder_of_a_store_is_served(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = TraceStore.open(str(folder))
    capture = next(iter(captures()))
    store.ingest(capture.body, capture.content_type, capture.content_encoding)
    store.close()
    for _ in range(2):
        with RunningService(folder) as service:
            assert len(service.trace_ids()) == 1
            assert service.stop() == 0
    assert not (folder / "traces").exists()


def test_a_folder_with_something_else_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPANWISE_")}
    done = subprocess.run(
        [sys.executable, "-m", "spanwise", "serve", "--data-dir", str(tmp_path)],
        env=environment | NO_DEFAULT_PORTS,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"Error: expected traces in `{tmp_path}`, found `notes.txt`: pass a data folder, the folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
