"""Times how long `spanwise serve` takes to become ready, and measures its memory then."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.results import Opened
from spanwise.bench.service.server import ServerProcess
from spanwise.bench.stages import indexes
from spanwise.bench.tables import median

if TYPE_CHECKING:
    from spanwise.bench.plan import Plan

_MAX_STARTS = 5


def run(plan: Plan) -> None:
    """Starts the service alternately with the store and with an empty one.

    Raises:
        ServerError: it did not start.
    """
    load = machine.load()
    indexes.complete(plan)
    seconds: list[float] = []
    empty_seconds: list[float] = []
    anonymous = mapped = peak = empty_resident = 0
    empty = plan.folder / "empty"
    try:
        for _ in range(min(_MAX_STARTS, plan.effort.runs)):
            shutil.rmtree(empty, ignore_errors=True)
            empty.mkdir()
            with ServerProcess(empty / "data") as server:
                empty_seconds.append(server.ready_seconds)
                process = server.process.pid
                empty_resident = max(empty_resident, machine.anonymous_bytes(process) + machine.file_bytes(process))
            with ServerProcess(plan.data_dir) as server:
                seconds.append(server.ready_seconds)
                anonymous = max(anonymous, machine.anonymous_bytes(server.process.pid))
                mapped = max(mapped, machine.file_bytes(server.process.pid))
                peak = max(peak, machine.peak_bytes(server.process.pid))
    finally:
        shutil.rmtree(empty, ignore_errors=True)
    memory = f"RssAnon {anonymous / 1e6:,.0f} MB, RssFile {mapped / 1e6:,.0f} MB, at most {peak / 1e6:,.0f} MB"
    plan.log(f"open: ready after {median(seconds):.2f} s, {memory}")
    plan.results.open = Opened(
        seconds, empty_seconds, anonymous, mapped, machine.circumstances(load), peak, empty_resident
    )
