"""Shards in separate processes are killed and recover all acknowledged data: the kills of the gate.

`test_cluster.py` has many more, which take longer.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from support.clients.otlp import export_request
from support.services.cluster import are_gone, descendants, shard_processes, with_ray
from support.services.process import START_SECONDS, RunningService

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = with_ray
JSON = {"Content-Type": "application/json"}
END_SECONDS = 30
KILLS = 3


def send(service: RunningService, *numbers: int) -> None:
    """Sends traces with these numbers until all are acknowledged, as exporters do."""
    deadline = time.monotonic() + START_SECONDS
    for number in numbers:
        body = export_request(f"{number:032x}", "0" * 15 + "1")
        while (response := service.http.post("/v1/traces", content=body, headers=JSON)).status_code == 503:
            assert time.monotonic() < deadline, response.text
            time.sleep(0.1)
        response.raise_for_status()


def test_shards_that_are_killed_are_found_again_and_nothing_is_lost(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data", "--shards", "2", "--cluster", "local") as service:
        send(service, *range(1, 21))
        before, sent = descendants(service.process.pid), 20
        for kill in range(KILLS):
            shards = shard_processes(service.process.pid)
            killed, other = shards[kill % 2], shards[1 - kill % 2]
            os.kill(killed, signal.SIGKILL)
            # Traces of the killed shard wait for it.
            send(service, *range(sent + 1, sent + 21))
            sent += 20
            service.wait_until_ready()
            assert sorted(service.trace_ids()) == [f"{number:032x}" for number in range(1, sent + 1)]
            after = shard_processes(service.process.pid)
            assert len(after) == 2
            assert other in after
            assert killed not in after
            before |= descendants(service.process.pid)
        assert service.stop() == 0
        deadline = time.monotonic() + END_SECONDS
        while not are_gone(before):
            assert time.monotonic() < deadline, before
            time.sleep(0.05)
