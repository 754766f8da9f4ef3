"""Shards in processes of their own. Ray starts, finds, calls and restarts them.

Ray is not the source of truth: the data of a shard is in its store, and the list of shards is in the layout. `actor`
runs in the process of a shard and does not depend on Ray; `ray_shard` calls it; `runtime` starts Ray. Ray is the extra
`spanwise[cluster]`, and is imported only if `opening` opens a store.
"""
