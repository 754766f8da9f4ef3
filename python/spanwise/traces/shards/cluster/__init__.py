"""Shards in processes of their own, which Ray starts, finds, calls and starts again.

Ray holds no truth: what a shard has is in its store, and which shards there are is in the layout. `actor` is what runs
in the process of a shard and knows nothing of Ray; `ray_shard` calls it; `runtime` starts Ray. Ray is the extra
`spanwise[cluster]`, and is imported only if a store is opened by `opening`.
"""
