"""A sharded trace store: each shard is a store with a part of the traces.

A shard is an ordinary trace store. Searches, writes and deletions go through `Shard`. Its calls take and return plain
bytes and small values, so a shard may be in another process. The id of a trace determines its shard (`layout`). Results
are never approximate or partial: a shard that does not respond causes an error, not a smaller result.
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
