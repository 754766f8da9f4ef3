"""A service whose shards get every part of a request in its own call, as a baseline for batching."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from spanwise import Service
from spanwise.cluster.ray import batches
from spanwise.errors import SpanwiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.cluster.ray.batches import Outcomes
    from spanwise.cluster.shards.shard import Outcome, Part, Waiting

THREADS = 32


class Unbatched:
    """Sends each part as it arrives. Stands in for `Batches`."""

    def __init__(self, send: Callable[[Sequence[Part], float], Outcomes], name: str) -> None:
        """See `Batches`."""
        self._send = send
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=name)

    def add(self, part: Part, waiting: Waiting) -> Future[Outcome]:  # noqa: ARG002  # the signature of `Batches`
        """See `Batches.add`."""
        return self._threads.submit(self._store, part)

    def _store(self, part: Part) -> Outcome:
        (outcome,) = self._send([part], 30)
        if isinstance(outcome, SpanwiseError):
            raise outcome
        return outcome

    def close(self) -> None:
        """See `Batches.close`."""
        self._threads.shutdown()


# Opening the store imports Ray's part of the shards, which reads this name.
batches.Batches = Unbatched  # type: ignore[assignment, misc]
service = Service()
