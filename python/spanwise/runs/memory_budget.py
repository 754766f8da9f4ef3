"""How many bytes of events may be in memory, of all runs together?"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Room:
    """Counts the bytes of events that runs, their followers and the way to the database hold.

    A full room begins no new run, and of what can be read from the database little stays. What the database has yet to
    take is bounded where it is taken (`Journal.caught_up`).

    Attributes:
        in_memory: how many bytes there are.
    """

    def __init__(self, most: int) -> None:
        """Begins with nothing; at `most` bytes it is full."""
        self._most = most
        self.in_memory = 0

    @property
    def is_full(self) -> bool:
        """Returns whether there are too many."""
        return self.in_memory >= self._most

    def admit(self) -> None:
        """Refuses to begin one more run while there are too many.

        Raises:
            UnavailableError: there are.
        """
        if self.is_full:
            raise UnavailableError("too many bytes of events at once")

    def take(self, size: int) -> None:
        """Counts `size` more bytes."""
        self.in_memory += size

    def leave(self, size: int) -> None:
        """Counts `size` bytes less."""
        self.in_memory -= size

    @contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Counts `size` bytes until the block ends."""
        self.take(size)
        try:
            yield
        finally:
            self.leave(size)
