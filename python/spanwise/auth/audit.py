"""The audit log: one line for each decision. It names who, what and why not; it never holds a token.

A line is one JSON object in ASCII, so whatever a caller puts into a name or a path stays inside its text. Of the
callers that nobody knows, at most ninety lines a second are written; how many more there were is one line too.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_UNKNOWN_PER_SECOND = 90
LONGEST_TEXT = 512

_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)  # whatever the log's own level is: the audit is not a matter of severity


class Verdict(StrEnum):
    """What was decided about a request."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNAUTHENTICATED = "unauthenticated"


class Decision(Struct, frozen=True, kw_only=True):
    """One decision.

    Attributes:
        sub: the verified caller; None if there is none.
        method: the method of the request.
        route: the path as the route table has it; the path itself where the table has none.
        resource: the id of what was asked for, if it is one thing.
        decision: what was decided.
        reason: why not; the text that the caller was given.
        request_id: the id of the request, as in its answer and in the log.
    """

    sub: str | None
    method: str
    route: str
    resource: str | None
    decision: Verdict
    reason: str | None = None
    request_id: str


class AuditLog:
    """Writes decisions to the log `spanwise.auth.audit`."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Begins to write.

        Args:
            clock: seconds since 1970.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._second = 0
        self._unknown = 0

    def write(self, decision: Decision) -> None:
        """Writes one line, unless it is one too many of an unknown caller in this second."""
        now = self._clock()
        with self._lock:
            left_out = self._begin(int(now))
            if decision.decision is Verdict.UNAUTHENTICATED:
                self._unknown += 1
            is_too_many = self._unknown > MOST_UNKNOWN_PER_SECOND and decision.decision is Verdict.UNAUTHENTICATED
        self._write_left_out(now, left_out)
        if not is_too_many:
            _write(now, asdict(decision))

    def close(self) -> None:
        """Writes how many lines were left out last."""
        now = self._clock()
        with self._lock:
            left_out = self._begin(-1)
        self._write_left_out(now, left_out)

    def _begin(self, second: int) -> int:
        """Returns how many lines the second before left out, if `second` is another one."""
        if second == self._second:
            return 0
        left_out = max(0, self._unknown - MOST_UNKNOWN_PER_SECOND)
        self._second, self._unknown = second, 0
        return left_out

    def _write_left_out(self, now: float, left_out: int) -> None:
        if left_out:
            _write(now, {"decision": Verdict.UNAUTHENTICATED, "left_out": left_out})


def _write(now: float, members: dict[str, object]) -> None:
    instant = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    kept = {name: _cut(value) for name, value in members.items() if value is not None}
    _log.info("%s", json.dumps({"time": instant, **kept}, ensure_ascii=True))


def _cut(value: object) -> object:
    return f"{value[:LONGEST_TEXT]}..." if isinstance(value, str) and len(value) > LONGEST_TEXT else value
