"""A trace store over several processes: its shards, the calls of them, and the gateways that serve it.

A shard is an ordinary trace store with a part of the traces. Searches, writes and deletions go through `Shard`. Its
calls take and return plain bytes and small values, so a shard may be in another process. The id of a trace determines
its shard. Results are never approximate or partial: a shard that does not respond causes an error, not a smaller
result.
"""
