"""Counts over shards, with their memory known in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Facets, Gathering
    from spanwise.cluster.scatter import Search


def _is_measured(search: Gathering) -> bool:
    return search.max_bytes is not None


class ShardedAggregation:
    """An aggregation with its traces selected and its groups determined on every shard."""

    def __init__(self, search: Search, cancel: CancellationToken | None) -> None:
        """Selects the traces.

        Raises:
            SpanwiseError: see `Search.run`.
        """
        self._search = search
        self.max_bytes = search.run(cancel, _is_measured).max_bytes or 0
        """The maximum memory on all shards together, in bytes."""

    def run(self, cancel: CancellationToken | None = None) -> tuple[bytes, int]:
        """See `PreparedAggregation.run`."""
        return self._search.run(cancel).numbers()


class ShardedFacets:
    """Facets to count in one state of every shard."""

    def __init__(self, search: Search) -> None:
        """Selects the traces.

        Raises:
            SpanwiseError: see `Search.run`.
        """
        self._search = search
        self.bytes = search.run(None, _is_measured).max_bytes or 0
        """An upper bound of the memory for counting on all shards together, in bytes."""

    def run(self, cancel: CancellationToken | None = None) -> Facets:
        """See `FacetPlan.run`."""
        return self._search.run(cancel).counted_facets()
