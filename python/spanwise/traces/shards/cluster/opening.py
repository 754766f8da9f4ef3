"""Opens the shards of a store in processes of their own."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from spanwise.traces.process_tables import ProcessTables
from spanwise.traces.shards.cluster.actor import ShardPlan
from spanwise.traces.shards.cluster.runtime import LOCAL, RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.settings import Settings
    from spanwise.traces.shards.layout import Layout
    from spanwise.traces.shards.shard import Shard


def process_name(store: str) -> str:
    """Returns by which name the process of a shard is found in a Ray cluster, of the shard that has this folder."""
    return f"shard-{store}"


def ray_opener(folder: Path, layout: Layout, options: bytes, settings: Settings) -> Callable[[str], Shard]:
    """Returns what opens the shard in a folder, in a process that Ray runs.

    A Ray that was started for this process ends with it. In a Ray cluster the processes of shards outlive it: any
    number of services use them.

    Args:
        folder: the folder of the store.
        layout: its layout.
        options: the options of every shard, as `TraceStore.open` takes them.
        settings: say which Ray.

    Raises:
        ConfigurationError: a file with prices cannot be read.
    """
    count = len(layout.shards)
    names = dict(zip(map(str, layout.folders(folder)), layout.prefixes, strict=True))
    tables = ProcessTables.of(settings)
    threads = math.ceil((os.cpu_count() or 1) / count) if settings.cluster == LOCAL else None

    def open_one(place: str) -> Shard:
        RUNTIME.acquire(settings.cluster, count)
        from spanwise.traces.shards.cluster.ray_shard import RayShard  # noqa: PLC0415  # Ray is an extra

        path = os.path.abspath(place)  # noqa: PTH100  # as the layout names it, links are not followed
        plan = ShardPlan(path, layout.number, options, tables, settings.page_buffer_bytes, threads)
        try:
            shared_as = None if settings.cluster == LOCAL else process_name(os.path.basename(path))  # noqa: PTH119
            return RayShard(plan, names[place], RUNTIME.release, shared_as)
        except BaseException:  # an interrupted start uses Ray no longer either
            RUNTIME.release()
            raise

    return open_one
