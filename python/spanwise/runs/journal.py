"""The way to the database: one thread, and events that arrive together become durable together."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.database import Database

Result = TypeVar("Result")
StoredEvent: TypeAlias = tuple[str, int, str, bytes]
"""Run id, index, name and JSON of one event."""

_log = logging.getLogger(__name__)


class Journal:
    """Calls a database from the event loop's side, in order."""

    def __init__(self, database: Database) -> None:
        """Prepares the way; nothing is opened."""
        self._database = database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spanwise-database")
        self._pending: list[StoredEvent] = []
        self._flushing: asyncio.Task[None] | None = None

    async def do(self, work: Callable[[Database], Result]) -> Result:
        """Returns what `work` returns. What was asked for earlier is done earlier."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._database))

    def add(self, event: StoredEvent) -> None:
        """Has an event stored soon."""
        self._pending.append(event)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def flushed(self) -> None:
        """Returns when every event that was added is durable."""
        if self._flushing is not None:
            await asyncio.wait([self._flushing])

    async def _flush(self) -> None:
        while self._pending:
            events, self._pending = self._pending, []
            try:
                await self.do(lambda database, events=events: database.add_events(events))  # type: ignore[misc]
            except Exception:  # noqa: BLE001  # whatever the database raises, the run goes on
                _log.exception("%d events of runs were not stored", len(events))

    async def close(self) -> None:
        """Stores what waits, then closes the database."""
        await self.flushed()
        await self.do(lambda database: database.close())
        self._thread.shutdown()
