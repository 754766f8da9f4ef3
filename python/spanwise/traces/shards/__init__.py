"""A trace store that is divided among shards: stores that have a part of the traces each.

A shard is an ordinary trace store. What is searched, stored and deleted goes through `Shard`, whose calls take and
return plain bytes and small values, so that a shard may be in another process. Where a trace is, its id says
(`layout`). Nothing is approximate, and nothing is left out: what a shard does not answer is an error, never a smaller
answer.
"""

from spanwise.traces.shards.layout import Layout, guard_store, newest_layout, open_layout, write_layout
from spanwise.traces.shards.local import LocalShard
from spanwise.traces.shards.opening import open_shards
from spanwise.traces.shards.shard import Ask, Shard
from spanwise.traces.shards.store import ShardedStore

__all__ = [
    "Ask",
    "Layout",
    "LocalShard",
    "Shard",
    "ShardedStore",
    "guard_store",
    "newest_layout",
    "open_layout",
    "open_shards",
    "write_layout",
]
