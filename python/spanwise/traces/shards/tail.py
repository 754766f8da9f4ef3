"""Follows all shards of a store: readers have one number for their position, which stands for one of every shard."""

from __future__ import annotations

import weakref
from collections import deque
from concurrent.futures import wait
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise._engine import Filter
    from spanwise.traces.shards.scatter import Scatter
    from spanwise.traces.shards.shard import Shard

MAX_REMEMBERED = 1_024
"""Events that a reader can go back behind: as many as each shard repeats, so that it can whatever their shards are."""


class ShardedTail:
    """A reader of all shards. It is used by one thread at a time."""

    def __init__(self, tail: int, shards: int) -> None:
        """Begins before the first event of every shard.

        Args:
            tail: its number on every shard.
            shards: how many shards there are.
        """
        self.id = tail
        self._last = 0
        # Of each event that it can go back behind, the shard and the number that the shard gave it.
        self._events: deque[tuple[int, int]] = deque(maxlen=MAX_REMEMBERED)
        # What the shards' last events before these were.
        self._before = [0] * shards
        self._rewound: list[int] | None = None
        self.is_lost = False
        """Whether a shard may have given events that nobody got: it cannot be resumed."""

    @property
    def last(self) -> int:
        """Returns the number of the last event."""
        return self._last

    def add(self, shard: int, number: int) -> int:
        """Returns the number of an event that a shard has given `number`."""
        if len(self._events) == MAX_REMEMBERED:
            first_shard, first = self._events[0]
            self._before[first_shard] = first
        self._events.append((shard, number))
        self._last += 1
        return self._last

    def rewind(self, number: int) -> bool:
        """Goes back to where event `number` was the last one. Returns whether that was possible.

        The shards go back before they are polled next.
        """
        kept = len(self._events) - (self._last - number)
        if self.is_lost or not 0 <= kept <= len(self._events):
            return False
        while len(self._events) > kept:
            self._events.pop()
        self._last = number
        positions = list(self._before)
        for shard, own in self._events:
            positions[shard] = own
        self._rewound = positions
        return True

    def take_rewound(self) -> list[int] | None:
        """Returns where every shard is to go back to, once; None if that is nowhere."""
        rewound, self._rewound = self._rewound, None
        return rewound


class ShardedTailFeed:
    """Follows all shards for all readers."""

    def __init__(self, scatter: Scatter, shards: Sequence[Shard]) -> None:
        """Follows the shards of a store."""
        self._scatter = scatter
        self._shards = shards
        self._polls = count(1)

    @property
    def position(self) -> int:
        """Returns another number each time: whether anything has changed is found when the shards are polled."""
        return next(self._polls)

    def open(self, filter: Filter) -> ShardedTail:  # noqa: A002  # the name of the engine
        """Returns a reader of what is committed from now on."""
        ask = self._scatter.ask(filter.to_query())
        tail = ShardedTail(ask.search, len(self._shards))
        weakref.finalize(tail, _close, self._scatter, self._shards, ask.search)
        for call in self._scatter.each(lambda shard: shard.open_tail(ask)):
            call.result()
        return tail

    def poll(
        self, readers: list[tuple[ShardedTail, int]]
    ) -> tuple[list[list[tuple[int, str, bytes]]], bool, list[str]]:
        """Brings readers up to date, and takes the next events of each: about the number beside it.

        Returns:
            The events, whether something is due later, and what is wrong with traces that were read.

        Raises:
            UnavailableError: a shard does not answer, or has been away: none of the readers can be resumed.
        """
        rewound = [tail.take_rewound() for tail, _ in readers]

        def wanted(shard: int) -> list[tuple[int, int, int | None]]:
            share = len(self._shards)
            return [
                (tail.id, -(-most // share), None if positions is None else positions[shard])
                for (tail, most), positions in zip(readers, rewound, strict=True)
            ]

        calls = [self._scatter.ask_shard(shard.poll_tails, wanted(number)) for number, shard in enumerate(self._shards)]
        events: list[list[tuple[int, str, bytes]]] = [[] for _ in readers]
        has_deferred, errors = False, []
        wait(calls)
        if (error := next(filter(None, (call.exception() for call in calls)), None)) is not None:
            for tail, _ in readers:
                tail.is_lost = True
            raise error
        for number, call in enumerate(calls):
            polled, is_deferred, damage = call.result()
            has_deferred |= is_deferred
            errors += damage
            for (tail, _), own, found in zip(readers, events, polled, strict=True):
                own += [(tail.add(number, event), name, body) for event, name, body in found]
        return events, has_deferred, errors


def _close(scatter: Scatter, shards: Sequence[Shard], tail: int) -> None:
    for shard in shards:
        scatter.tell(shard.close_tails, tail)
