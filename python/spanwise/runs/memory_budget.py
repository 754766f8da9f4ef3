"""The memory budget for the events of all runs together."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator


class MemoryBudget:
    """Counts the bytes of events that runs, their subscribers and the database writer hold.

    An exhausted budget does not make `reserve` fail: it keeps new runs from starting, and makes runs hold less of what
    can be read from the database instead. What still has to be written is bounded by `DatabaseWriter.caught_up`.

    Attributes:
        used_bytes: how many bytes are held.
    """

    def __init__(self, max_bytes: int) -> None:
        """Creates an unused budget of `max_bytes`."""
        self._max_bytes = max_bytes
        self.used_bytes = 0

    @property
    def is_exhausted(self) -> bool:
        """Returns whether the budget is used up."""
        return self.used_bytes >= self._max_bytes

    def expect_available(self) -> None:
        """Checks that a new run may start.

        Raises:
            UnavailableError: the budget is exhausted.
        """
        if self.is_exhausted:
            raise UnavailableError("too many bytes of events at once")

    def reserve(self, size: int) -> None:
        """Adds `size` bytes to those held."""
        self.used_bytes += size

    def release(self, size: int) -> None:
        """Removes `size` bytes from those held."""
        self.used_bytes -= size

    @contextmanager
    def reserved(self, size: int) -> Iterator[None]:
        """Reserves `size` bytes until the block ends."""
        self.reserve(size)
        try:
            yield
        finally:
            self.release(size)
