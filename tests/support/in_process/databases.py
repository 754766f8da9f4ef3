"""The content of a run database, as comparable records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.database import SessionRunQuery

if TYPE_CHECKING:
    from spanwise.database import Database, RunRecord, SessionKey


def runs_of(database: Database, session: SessionKey) -> list[RunRecord]:
    """Returns the runs of a session, oldest first."""
    numbers = [number for number, _ in database.run_sizes(SessionRunQuery(session=session), 0, 10_000)]
    return [
        msgspec.structs.replace(each, result=msgspec.json.decode(msgspec.json.encode(each.result)))
        for each in database.runs(numbers)
    ]
