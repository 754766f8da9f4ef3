"""The end of a run to store: complete, or as an error if it is too large to keep until the database accepts it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise.errors import StoreError, UnavailableError
from spanwise.runs.active_run import RunEvent
from spanwise.runs.finalize import encode_event, ended_with
from spanwise.runs.storage.writer import RETRY_SECONDS

if TYPE_CHECKING:
    from spanwise.database import Database, RunRecord
    from spanwise.runs.active_run import ActiveRun
    from spanwise.runs.storage.writer import DatabaseWriter, StoredEvent

LOST_EVENTS = "events of the run were lost: too many waited for the database of runs"
LOST_RESULT = "the result of the run was lost: too many bytes waited for the database of runs"
REJECTED = "the result of the run was lost: the database of runs rejected it"

_log = logging.getLogger(__name__)


class RunEnd:
    """The end of one run.

    Attributes:
        record: the run after its end.
        last: its last event.
    """

    def __init__(self, record: RunRecord, last: RunEvent, session_state: dict[str, Any] | None) -> None:
        """Describes an end that is not stored yet.

        Args:
            record: the run after its end.
            last: its last event.
            session_state: the new state of its session; None to leave it unchanged.
        """
        self.record = record
        self.last = last
        self._session_state = session_state
        self._earlier: list[StoredEvent] = []

    async def store(self, writer: DatabaseWriter, active: ActiveRun) -> None:
        """Stores the end and the unstored events. Retries for as long as the database is unavailable.

        Until then the run is active, and its result counts against the budget of its caller.

        Raises:
            Exception: the service shuts down while the database fails. The next start of the service ends the run.
        """
        try:
            self._earlier = writer.unstored_events(active.run_id)
        except StoreError:
            self._fail(LOST_EVENTS)
        with writer.budget.hold() as lease:

            def keep(failed: int) -> None:
                if failed == 1:
                    try:
                        lease.add(len(msgspec.json.encode(self.record.result)))
                    except UnavailableError:
                        self._fail(LOST_RESULT)
                if failed == len(RETRY_SECONDS):
                    active.delay()

            try:
                await writer.transact_with_retries(self._store, keep)
            except UnavailableError:
                raise
            except Exception:  # noqa: BLE001  # an end that is not stored would leave the run unfinished for ever
                _log.exception("the end of run %s could not be stored", active.run_id)
                self._fail(REJECTED)
                self._earlier = []
                await writer.transact_with_retries(self._store, keep)

    def _fail(self, message: str) -> None:
        """Replaces the end with an error, which is small."""
        _log.error("run %s: %s", self.record.run_id, message)
        metadata = self.record.result.get("metadata") or {}
        traced = {"metadata": {"trace_id": metadata["trace_id"]}} if "trace_id" in metadata else {}
        self.record, event = ended_with(msgspec.structs.replace(self.record, result=traced), "ERROR", message)
        self.last = RunEvent(self.last.index, event["event"], encode_event({**event, "event_index": self.last.index}))
        self._session_state = None

    def _store(self, database: Database) -> None:
        database.end(self.record, self._session_state)
        last = self.last
        database.add_events([*self._earlier, (self.record.run_id, last.index, last.name, last.body)])
