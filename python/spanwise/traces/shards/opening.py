"""Opens the stores of this process that are the shards of a store in a folder."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from spanwise.traces.shards.local import LocalShard
from spanwise.traces.shards.store import ShardedStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise._engine import TraceStore
    from spanwise.traces.shards.layout import Layout


def open_shards(
    folder: Path,
    layout: Layout,
    open_one: Callable[[str], TraceStore],
    *,
    max_decoding_bytes: int = 0,
    search_seconds: float = math.inf,
) -> ShardedStore:
    """Returns the open store of a layout. Its shards are opened at once.

    Args:
        folder: the folder of the store.
        layout: its layout.
        open_one: opens the store in the folder of a shard.
        max_decoding_bytes: about how much memory the requests take together that are being decoded.
        search_seconds: the deadline of a search.

    Raises:
        SpanwiseError: what `open_one` raises. No shard is open then.
    """
    folders = layout.folders(folder)
    with ThreadPoolExecutor(len(folders), thread_name_prefix="spanwise-open") as threads:
        openings = [threads.submit(open_one, str(shard)) for shard in folders]
        wait(openings)
    if any(opening.exception() is not None for opening in openings):
        for opening in openings:
            if opening.exception() is None:
                opening.result().close()
    shards = [LocalShard(opening.result(), layout.number) for opening in openings]
    return ShardedStore(layout, shards, search_seconds=search_seconds, max_decoding_bytes=max_decoding_bytes)
