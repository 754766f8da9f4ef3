"""The parts of a store: the layout that lists them, the protocol of a shard, and a shard in this process."""
