"""Opens the shards of a store, in this process or in others."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from spanwise.cluster.store import ShardedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.cluster.shards.layout import Layout
    from spanwise.cluster.shards.shard import Shard


def open_shards(
    url: str,
    layout: Layout,
    open_one: Callable[[str], Shard],
    *,
    max_decoding_bytes: int = 0,
    search_seconds: float = math.inf,
) -> ShardedStore:
    """Returns the open store of a layout. Its shards are opened concurrently.

    Args:
        url: the path of the folder of the store, or the URL of its bucket.
        layout: its layout.
        open_one: opens the shard at a path or URL.
        max_decoding_bytes: the approximate memory of all requests being decoded.
        search_seconds: the deadline of a search.

    Raises:
        SpanwiseError: `open_one` failed. All shards are closed again.
    """
    locations = layout.locations(url)
    with ThreadPoolExecutor(len(locations), thread_name_prefix="spanwise-open") as threads:
        openings = [threads.submit(open_one, location) for location in locations]
        wait(openings)
    if any(opening.exception() is not None for opening in openings):
        for opening in openings:
            if opening.exception() is None:
                opening.result().close()
    shards = [opening.result() for opening in openings]
    return ShardedStore(layout, shards, search_seconds=search_seconds, max_decoding_bytes=max_decoding_bytes)
