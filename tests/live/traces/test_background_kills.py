"""Acknowledged traces survive kills while the store flushes, merges, deletes and expires."""

from __future__ import annotations

import itertools
import json
import logging
import os
import random
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, TraceStore
from spanwise.traces.search import queries
from support.programs import busy_store, start

if TYPE_CHECKING:
    from pathlib import Path

SEED = 20261120
_log = logging.getLogger(__name__)


def events_before_a_kill(folder: Path, seed: str) -> list[tuple[str, str]]:
    """Returns the events that a busy store reported before it was killed."""
    with start("busy_store", folder, seed, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # The first line reports the start. Only a working store is killed.
        first = process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, 1))
        ended = process.poll()
        process.kill()
        output, errors = first + process.stdout.read(), process.stderr.read()
    assert ended is None, f"seed {seed}: {errors}"
    # The kill may have truncated the last line.
    lines = output[: output.rfind("\n") + 1].splitlines()
    return [(event, trace_id) for event, trace_id in (line.split() for line in lines)]


def found_ids(store: TraceStore) -> list[str]:
    """Returns the ids of all traces, page by page."""
    found: list[str] = []
    everything = Filter.compile(b"null")
    for number in itertools.count(1):
        page = json.loads(store.query(queries.runs(everything, number, 100, detail="summary")).data)
        if not page:
            break
        found += [item["trace_id"] for item in page]
    return found


@pytest.mark.parametrize("kills", [8, pytest.param(int(os.environ.get("SLOW_KILLS", "500")), marks=pytest.mark.slow)])
def test_kills_during_background_work_lose_nothing_and_bring_nothing_back(tmp_path: Path, kills: int) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    events = [event for kill in range(kills) for event in events_before_a_kill(folder, f"{SEED}/{kill}")]
    kept, going, gone = (
        {trace_id for event, trace_id in events if event == kind} for kind in ("kept", "going", "gone")
    )
    TraceStore.check(str(folder))
    store = TraceStore.open(str(folder), json.dumps(busy_store.OPTIONS).encode())
    try:
        found = found_ids(store)
        manifest = json.loads(store.stats())["manifest"]
    finally:
        store.close()
    _log.info("%d kills: %d kept, %d deleted, %d manifests", kills, len(kept), len(gone), manifest)
    assert len(found) == len(set(found)), f"seed {SEED}: traces are doubled"
    lost = kept - going - set(found)
    assert not lost, f"seed {SEED}: {len(lost)} of {len(kept)} are lost"
    assert not gone & set(found), f"seed {SEED}: deleted traces are back"
    assert kept, f"seed {SEED}: the kills came before the writers"
    assert manifest > 3 * kills, f"seed {SEED}: the store hardly sealed or merged"
