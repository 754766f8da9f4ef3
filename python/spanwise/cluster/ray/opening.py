"""Opens the shards of a store in processes of their own."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from spanwise.cluster.failover.guarded import GuardedShard
from spanwise.cluster.ray.actor import ShardPlan
from spanwise.cluster.ray.runtime import LOCAL, RUNTIME
from spanwise.engine_globals import EngineGlobals
from spanwise.settings import absolute

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.cluster.shards.layout import Layout
    from spanwise.cluster.shards.shard import Shard
    from spanwise.settings import Settings


def process_name(store: str) -> str:
    """Returns the name of a shard's process in a Ray cluster."""
    return f"shard-{store}"


def follower_name(store: str) -> str:
    """Returns the name of a shard's follower in a Ray cluster."""
    return f"follower-{store}"


def ray_opener(
    url: str, layout: Layout, options: tuple[Callable[[str], bytes], Callable[[str], bytes]], settings: Settings
) -> Callable[[str], Shard]:
    """Returns the function that opens the shard at a path or URL, and its follower, in processes that Ray runs.

    A Ray that was started for this process ends with it. In a Ray cluster, the processes of shards outlive it, and any
    number of services use them.

    Args:
        url: the path of the folder of the store, or the URL of its bucket.
        layout: its layout.
        options: two functions of a shard's path or URL: the options of the shard, as `TraceStore.open` takes them, and
            of its follower, as `TraceStore.follow` does.
        settings: select the Ray cluster.

    Raises:
        ConfigurationError: a file with prices cannot be read.
    """
    count = len(layout.shards)
    numbers = {location: number for number, location in enumerate(layout.locations(url))}
    tables = EngineGlobals.of(settings)
    is_local = settings.cluster == LOCAL
    threads = math.ceil((os.cpu_count() or 1) / count) if is_local else None

    def open_one(location: str) -> Shard:
        number = numbers[location]
        name = f"shard `{layout.prefixes[number]}`"
        store = layout.shards[number].store
        path = absolute(location)
        options_of_writer, options_of_follower = options
        plan = ShardPlan(path, layout.number, options_of_writer(path), tables, settings.page_buffer_bytes, threads)
        writer = start(plan, name, None if is_local else process_name(store), number)
        if not settings.followers:
            return GuardedShard(layout.prefixes[number], writer)
        plan = replace(plan, options=options_of_follower(path), follows=True)
        try:
            # The follower runs on the node after the shard's.
            follower = start(plan, f"the follower of {name}", None if is_local else follower_name(store), number + 1)
        except BaseException:  # an interrupted start must not leave a writer
            writer.close()
            raise
        return GuardedShard(layout.prefixes[number], writer, follower, settings.hedge_seconds)

    def start(plan: ShardPlan, name: str, shared_as: str | None, slot: int) -> Shard:
        RUNTIME.acquire(settings.cluster, count * (1 + settings.followers))
        from spanwise.cluster.ray.processes import Placing  # noqa: PLC0415  # Ray is an extra
        from spanwise.cluster.ray.ray_shard import RayShard  # noqa: PLC0415

        try:
            return RayShard(plan, name, RUNTIME.release, Placing(shared_as, slot))
        except BaseException:  # an interrupted start must not keep a slot
            RUNTIME.release()
            raise

    return open_one
