"""Acknowledged traces are found at once, after every kill, and exactly once.

A kill does not clear the page cache, so this tests no syncs. `test_sync_order.py` beside it and
`tests/rust/storage/power_loss.rs` do.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest

from support.clients.otlp import export_request
from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
SEED = 20261120
WRITERS = 4


def test_what_was_acknowledged_is_found_at_once(service: RunningService) -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        trace_id = f"{rng.getrandbits(128):032x}"
        export = export_request(trace_id, "00000000000000a1", "00000000000000a2")
        service.http.post("/v1/traces", content=export, headers=JSON).raise_for_status()
        found = service.search(filter={"op": "EQ", "key": "trace_id", "value": trace_id}).json()
        assert [item["total_spans"] for item in found["data"]] == [2]


class Writer(threading.Thread):
    """Sends traces of one to four spans, some twice, until the service is killed."""

    def __init__(self, url: str, seed: str) -> None:
        super().__init__()
        self.acknowledged: dict[str, int] = {}
        self._url = url
        self._rng = random.Random(seed)

    def run(self) -> None:
        with httpx.Client(base_url=self._url, timeout=30) as client:
            while True:
                trace_id = f"{self._rng.getrandbits(128):032x}"
                spans = self._rng.randint(1, 4)
                export = export_request(trace_id, *(f"{number + 1:016x}" for number in range(spans)))
                try:
                    for _ in range(self._rng.choice([1, 1, 2])):
                        response = client.post("/v1/traces", content=export, headers=JSON)
                        if response.status_code == 200:
                            self.acknowledged[trace_id] = spans
                        else:
                            assert response.status_code == 503, response.text
                except httpx.TransportError:
                    return


def kill_while_writing(service: RunningService, seed: str) -> dict[str, int]:
    """Returns the traces acknowledged before the service was killed, by id."""
    writers = [Writer(service.url, f"{seed}/{number}") for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    time.sleep(random.Random(seed).uniform(0.0, 0.4))
    service.kill()
    for writer in writers:
        writer.join()
    return {trace_id: spans for writer in writers for trace_id, spans in writer.acknowledged.items()}


@pytest.mark.parametrize("kills", [50, pytest.param(int(os.environ.get("SLOW_KILLS", "500")), marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost_or_doubled_by_kills(tmp_path: Path, kills: int) -> None:
    acknowledged: dict[str, int] = {}
    for kill in range(kills):
        with RunningService(tmp_path / "data") as service:
            acknowledged |= kill_while_writing(service, f"{SEED}/{kill}")
    with RunningService(tmp_path / "data") as service:
        items = service.items()
        found = {item["trace_id"]: item["total_spans"] for item in items}
        assert len(found) == len(items), f"seed {SEED}: traces are doubled"
        lost = acknowledged.keys() - found.keys()
        assert not lost, f"seed {SEED}: {len(lost)} of {len(acknowledged)} are lost"
        changed = {trace_id for trace_id, spans in acknowledged.items() if found[trace_id] != spans}
        assert not changed, f"seed {SEED}: {changed}"
        assert len(acknowledged) > kills, f"seed {SEED}: the kills came before the writers"
        assert service.stop() == 0


def test_a_full_disk_is_503_searches_go_on_and_nothing_else_is_lost(tmp_path: Path) -> None:
    def send(number: int) -> int:
        export = export_request(f"{number:032x}", "00000000000000a1")
        return service.http.post("/v1/traces", content=export, headers=JSON).status_code

    with RunningService(tmp_path / "data") as service:
        assert send(1) == 200
        limits = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        assert [send(2), send(3)] == [503, 503]
        assert [item["trace_id"] for item in service.items()] == [f"{1:032x}"]
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, limits)
        assert [send(2), send(4)] == [200, 200]
        service.kill()
    with RunningService(tmp_path / "data") as service:
        assert set(service.trace_ids()) == {f"{number:032x}" for number in (1, 2, 4)}


@pytest.mark.parametrize("index", [0, 20, -1])
def test_damage_is_named_and_never_served_around(tmp_path: Path, index: int) -> None:
    with RunningService(tmp_path / "data") as service:
        for number in range(1, 4):
            export = export_request(f"{number:032x}", "00000000000000a1")
            service.http.post("/v1/traces", content=export, headers=JSON).raise_for_status()
        service.kill()
    damaged = sorted((tmp_path / "data" / "traces" / "wal").iterdir())[1]
    content = bytearray(damaged.read_bytes())
    content[index] ^= 1
    damaged.write_bytes(content)
    checked = subprocess.run(
        [sys.executable, "-m", "spanwise", "check", str(tmp_path / "data")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 1
    assert damaged.name in checked.stderr
    with RunningService(tmp_path / "data", is_ready=False) as service:
        assert service.process.wait(15) == 1
        assert damaged.name in service.log.read_text()
