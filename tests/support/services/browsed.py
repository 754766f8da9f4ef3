"""A store with examples of everything that the user interface shows."""

from __future__ import annotations

import fcntl
import os
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frameworks.harness.framework import FRAMEWORKS, names, read_index
from spanwise import TraceStore
from spanwise.demo.fill import SEED, FillPlan, fill

if TYPE_CHECKING:
    from pathlib import Path

MADE_UP_TRACES = 20_000


def filled_data_folder(parent: Path, traces: int = MADE_UP_TRACES) -> Path:
    """Returns a data folder with made-up traces of the last 30 days and every captured export. It is filled once.

    Args:
        parent: a folder that the processes of a test run share. The first one fills it, and the others wait.
        traces: the number of made-up traces.
    """
    folder = parent / "filled"
    with (parent / "filled.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fill(parent / "filling", traces)
            (parent / "filling").rename(folder)
    return folder


def _fill(folder: Path, traces: int) -> None:
    folder.mkdir()
    store = TraceStore.open(str(folder / "traces"))
    try:
        assert fill(store, FillPlan(traces, SEED, datetime.now(UTC)), lambda _: None) == 0
        _replay_frameworks(store)
        store.flush()
    finally:
        store.close()


def _replay_frameworks(store: TraceStore) -> None:
    for name in names():
        for file in read_index(name).files:
            body = (FRAMEWORKS / name / "exports" / file.file).read_bytes()
            encoding = None if file.content_encoding == "identity" else file.content_encoding
            ingest = store.ingest if file.signal == "traces" else store.ingest_logs
            ingest(body, file.content_type, encoding)


def copy_data_folder(filled: Path, folder: Path) -> None:
    """Copies a closed data folder to `folder` on the same file system.

    The copies share all files except the lock, because a store never rewrites a file.
    """
    shutil.copytree(filled, folder, copy_function=os.link, ignore=shutil.ignore_patterns("LOCK"))
