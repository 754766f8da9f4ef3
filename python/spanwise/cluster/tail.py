"""Follows all shards of a store. The position of a reader is one number, which maps to a position on every shard."""

from __future__ import annotations

import weakref
from collections import deque
from concurrent.futures import wait
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise._engine import Filter
    from spanwise.cluster.scatter import Scatter
    from spanwise.cluster.shards.shard import Shard

MAX_REMEMBERED = 1_024
"""Events that a reader can rewind over. Each shard repeats as many, so any mix of shards works."""


class ShardedTail:
    """A reader of all shards. It is used by one thread at a time."""

    def __init__(self, tail: int, shards: int) -> None:
        """Starts before the first event of every shard.

        Args:
            tail: its number on every shard.
            shards: the number of shards.
        """
        self.id = tail
        self._last = 0
        # For each event that it can rewind over: the shard, and the event number on that shard.
        self._events: deque[tuple[int, int]] = deque(maxlen=MAX_REMEMBERED)
        # The last event of each shard before these.
        self._before = [0] * shards
        self._rewound: list[int] | None = None
        self.is_lost = False
        """True if a shard may have returned events that were not delivered. The reader then cannot be resumed."""

    @property
    def last(self) -> int:
        """Returns the number of the last event."""
        return self._last

    def add(self, shard: int, number: int) -> int:
        """Returns the number of an event whose number on its shard is `number`."""
        if len(self._events) == MAX_REMEMBERED:
            first_shard, first = self._events[0]
            self._before[first_shard] = first
        self._events.append((shard, number))
        self._last += 1
        return self._last

    def rewind(self, number: int) -> bool:
        """Rewinds to just after event `number`. Returns True if that was possible.

        The shards rewind before the next poll.
        """
        remaining = len(self._events) - (self._last - number)
        if self.is_lost or not 0 <= remaining <= len(self._events):
            return False
        while len(self._events) > remaining:
            self._events.pop()
        self._last = number
        positions = list(self._before)
        for shard, own in self._events:
            positions[shard] = own
        self._rewound = positions
        return True

    def take_rewound(self) -> list[int] | None:
        """Returns the positions to which the shards must rewind, once; None without a rewind."""
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
        """Returns a new number each time, because only a poll of the shards detects changes."""
        return next(self._polls)

    def open(self, filter: Filter) -> ShardedTail:  # noqa: A002  # the engine's name
        """Returns a reader of the traces committed from now on."""
        ask = self._scatter.ask(filter.to_query())
        tail = ShardedTail(ask.search, len(self._shards))
        weakref.finalize(tail, _close, self._scatter, self._shards, ask.search)
        for call in self._scatter.each(lambda shard: shard.open_tail(ask)):
            call.result()
        return tail

    def poll(
        self, readers: list[tuple[ShardedTail, int]]
    ) -> tuple[list[list[tuple[int, str, bytes]]], bool, list[str]]:
        """Updates readers, and takes the next events of each, up to about the number beside it.

        Returns:
            The events, True if more work is due later, and the damage found in traces that were read.

        Raises:
            UnavailableError: a shard does not respond, or was away: no reader can be resumed.
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
