"""The audit log: one line for each authorization decision, with the caller, the resource and the reason.

A line is a JSON object in ASCII and never contains a token. Caller text, such as a name or a path, cannot break out of
its JSON string. At most 90 lines per second are written for unauthenticated requests. The number of omitted lines is
logged as well.
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

from spanwise.masking import masked_request_text

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_UNAUTHENTICATED_PER_SECOND = 90
MAX_TEXT_LENGTH = 512

_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)  # the audit log is independent of the configured log level


class AuditDecision(StrEnum):
    """The decision about a request."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNAUTHENTICATED = "unauthenticated"


class AuditEvent(Struct, frozen=True, kw_only=True):
    """One logged decision.

    Attributes:
        sub: the verified user id; None if the request is unauthenticated.
        method: the HTTP method.
        route: the path pattern in the route table; the path of the request if no route matches.
        resource: the id of the requested resource, if the route has one.
        decision: the decision.
        reason: the error message that the caller received, if the request was rejected.
        request_id: the id of the request, also in its response and in the log.
    """

    sub: str | None
    method: str
    route: str
    resource: str | None
    decision: AuditDecision
    reason: str | None = None
    request_id: str


class AuditLog:
    """Writes decisions to the logger `spanwise.auth.audit`."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Creates an audit log.

        Args:
            clock: Unix time in seconds.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._second = 0
        self._unauthenticated = 0

    def write(self, event: AuditEvent) -> None:
        """Writes one line, unless the limit for unauthenticated requests in this second is reached."""
        now = self._clock()
        with self._lock:
            left_out = self._roll_over(int(now))
            if event.decision is AuditDecision.UNAUTHENTICATED:
                self._unauthenticated += 1
            is_over_limit = (
                self._unauthenticated > MAX_UNAUTHENTICATED_PER_SECOND
                and event.decision is AuditDecision.UNAUTHENTICATED
            )
        self._write_left_out(now, left_out)
        if not is_over_limit:
            _write(now, asdict(event))

    def close(self) -> None:
        """Writes the number of lines omitted in the last second."""
        now = self._clock()
        with self._lock:
            left_out = self._roll_over(-1)
        self._write_left_out(now, left_out)

    def _roll_over(self, second: int) -> int:
        """Starts a new second if `second` is one. Returns the number of lines omitted in the last second."""
        if second == self._second:
            return 0
        left_out = max(0, self._unauthenticated - MAX_UNAUTHENTICATED_PER_SECOND)
        self._second, self._unauthenticated = second, 0
        return left_out

    def _write_left_out(self, now: float, left_out: int) -> None:
        if left_out:
            _write(now, {"decision": AuditDecision.UNAUTHENTICATED, "left_out": left_out})


def _write(now: float, members: dict[str, object]) -> None:
    instant = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    present = {name: _shown(value) for name, value in members.items() if value is not None}
    _log.info("%s", json.dumps({"time": instant, **present}, ensure_ascii=True))


def _shown(value: object) -> object:
    """Returns a value for the log: text without tokens, and truncated."""
    if not isinstance(value, str):
        return value
    text = masked_request_text(value)
    return f"{text[:MAX_TEXT_LENGTH]}..." if len(text) > MAX_TEXT_LENGTH else text
