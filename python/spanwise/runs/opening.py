"""Opens the run database, with the service or at its first use."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from spanwise.errors import StoreClosedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

WAIT_SECONDS = 5.0
"""How long a request waits for the database."""
_log = logging.getLogger(__name__)


class Opening:
    """The state of the database: not open yet, open, or closed. It is opened at most once.

    Attributes:
        is_open: True if it is open.
    """

    def __init__(self, open_database: Callable[[], Coroutine[None, None, None]]) -> None:
        """Stores the function that opens the database."""
        self.is_open = False
        self._open_database = open_database
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    async def open(self) -> None:
        """Opens the database; a no-op when it is open.

        Raises:
            ConfigurationError: the database cannot be opened.
            StoreLockedError: another process has it open.
        """
        await asyncio.shield(self._begin())

    async def wait(self) -> None:
        """Waits a short time until the database is open. Opens it if that has not started, or has failed.

        Raises:
            StoreClosedError: the service is shutting down.
            UnavailableError: the database is not open yet.
        """
        if not self.is_open and not self._is_closed:
            is_under_way = self._task is not None and not self._task.done()
            task = self._begin()
            if not is_under_way:
                task.add_done_callback(_log_failure)
            await asyncio.wait([task], timeout=WAIT_SECONDS)
        if self._is_closed:
            raise StoreClosedError("the service is shutting down")
        if not self.is_open:
            raise UnavailableError(self.not_open)

    @property
    def not_open(self) -> str:
        """Returns why the database is not open, without the cause, which is in the log."""
        if self._task is not None and self._task.done():
            return "the database of runs cannot be opened: the log has the cause"
        return "the database of runs is being opened"

    async def close(self) -> bool:
        """Ends all waits. Returns True if the database is open and must be closed."""
        self._is_closed = True
        if self._task is not None:
            await asyncio.wait([self._task])
        was_open, self.is_open = self.is_open, False
        return was_open

    def _begin(self) -> asyncio.Task[None]:
        if self._task is None or (self._task.done() and not self.is_open and not self._is_closed):
            self._task = asyncio.create_task(self._open())
        return self._task

    async def _open(self) -> None:
        await self._open_database()
        self.is_open = True


def _log_failure(opening: asyncio.Task[None]) -> None:
    if not opening.cancelled() and opening.exception() is not None:
        _log.error("the database of runs cannot be opened: %s", opening.exception())
