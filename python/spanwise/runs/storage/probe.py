"""Tests whether the run database accepts writes, for readiness probes, which anyone may send at any rate."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from spanwise.database import SessionKey
from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.runs.storage.writer import DatabaseWriter

FRESH_SECONDS = 1.0
"""How long the result of a probe is valid."""
WAIT_SECONDS = 2.0
"""How long a caller waits for the result. The probe itself continues."""
_NO_SESSION = SessionKey("", "")
"""No session has an empty id. Deleting it changes nothing, and fails when any other write would."""
_log = logging.getLogger(__name__)
_LATE = "the database of runs does not answer in time"


class DatabaseProbe:
    """Tests the database, with one attempt at a time and at most one per second."""

    def __init__(self, writer: DatabaseWriter, clock: Callable[[], float] = time.monotonic) -> None:
        """Creates a probe that has not run yet.

        Args:
            writer: gives access to the open database.
            clock: monotonic time in seconds.
        """
        self._writer = writer
        self._clock = clock
        self._probing: asyncio.Task[str | None] | None = None
        self._ended_at = 0.0

    async def failure(self) -> str | None:
        """Returns why the database accepts no writes; None if it does."""
        probing = self._probing
        if probing is None or (probing.done() and self._clock() >= self._ended_at + FRESH_SECONDS):
            self._probing = probing = asyncio.create_task(self._probe())
        await asyncio.wait([probing], timeout=WAIT_SECONDS)
        return probing.result() if probing.done() else _LATE

    async def _probe(self) -> str | None:
        try:
            await self._writer.transact(lambda database: database.delete_session(_NO_SESSION))
        except UnavailableError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # the program's database has its own errors
            _log.exception("the database of runs is read-only")
            return f"the database of runs failed ({type(error).__name__}): the log has the cause"
        finally:
            self._ended_at = self._clock()
        return None
