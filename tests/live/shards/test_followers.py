"""Shards with followers: searches continue while a shard is killed or hangs, and include all acknowledged data."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from support.services.cluster import CLUSTER, needs_ray, shard_processes
from support.services.process import RunningService
from support.services.searches import Searches, send

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = list(needs_ray)
KILLS = 9
WAIT_SECONDS = 90
SLOWEST_SECONDS = 5.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("followed") / "data", *CLUSTER, "--followers", "1") as running:
        yield running
        assert running.stop() == 0


def metric(service: RunningService, name: str) -> float:
    lines = service.http.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + "{"))


def test_no_search_fails_while_shards_are_killed(service: RunningService) -> None:
    searches = Searches(service.http, 0)
    send(service.http, searches, 30)
    for kill in range(KILLS):
        os.kill(shard_processes(service.process.pid)[kill % 3], signal.SIGKILL)
        assert service.http.get("/health", params={"ready": "true"}).is_success
        send(service.http, searches, 10)
    searches.end()
    assert searches.failed == []
    assert searches.count > KILLS
    assert searches.slowest < SLOWEST_SECONDS
    assert service.search(limit=1).json()["meta"]["total_count"] == searches.stored
    assert metric(service, "spanwise_shard_followed_total") > 0


def test_searches_go_on_beside_a_shard_that_hangs(service: RunningService) -> None:
    stored = service.search(limit=1).json()["meta"]["total_count"]
    asleep = shard_processes(service.process.pid)[0]
    searches = Searches(service.http, stored)
    os.kill(asleep, signal.SIGSTOP)
    deadline = time.monotonic() + WAIT_SECONDS
    while metric(service, "spanwise_shard_is_broken") == 0:
        assert time.monotonic() < deadline
    before = searches.count
    while searches.count < before + 20:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(asleep, signal.SIGCONT)
    while metric(service, "spanwise_shard_is_broken") > 0:
        assert time.monotonic() < deadline
    send(service.http, searches, 20)
    searches.end()
    assert searches.failed == []
    assert searches.slowest < SLOWEST_SECONDS
    assert asleep in shard_processes(service.process.pid)
