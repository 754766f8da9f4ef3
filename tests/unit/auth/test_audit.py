"""The audit log: one line per decision, without any token."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from spanwise.auth.audit import AuditDecision, AuditEvent, AuditLog
from support.clients.forged_tokens import forge

if TYPE_CHECKING:
    from collections.abc import Iterator

DECISION = AuditEvent(
    sub="alice",
    method="GET",
    route="/agents/{id}",
    resource="A",
    decision=AuditDecision.ALLOWED,
    request_id="r1",
)
UNKNOWN = replace(DECISION, sub=None, resource=None, decision=AuditDecision.UNAUTHENTICATED, reason="Token has expired")


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.25

    def __call__(self) -> float:
        return self.now


class RecordingHandler(logging.Handler):
    """Collects the lines of a log whose level is ERROR."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    @property
    def decisions(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def log() -> Iterator[RecordingHandler]:
    handler = RecordingHandler()
    logger = logging.getLogger("spanwise")
    level = logger.level
    logger.setLevel(logging.ERROR)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_a_decision_is_one_line_of_what_was_decided(log: RecordingHandler) -> None:
    audit = AuditLog(Clock())
    audit.write(DECISION)
    audit.write(UNKNOWN)
    expected = {"method": "GET", "route": "/agents/{id}", "request_id": "r1", "time": "2023-11-14T22:13:20.250Z"}
    assert log.decisions == [
        {**expected, "sub": "alice", "resource": "A", "decision": "allowed"},
        {**expected, "decision": "unauthenticated", "reason": "Token has expired"},
    ]


def test_a_line_never_contains_a_token() -> None:
    names = {field.name for field in fields(AuditEvent)}
    assert names == {"sub", "method", "route", "resource", "decision", "reason", "request_id"}


@given(
    st.text() | st.sampled_from(["a\r\nb", "\x1b[31mred", "\x9b31m", "a\u2028b", "\u202eb", "%n%s", "\x7f", "\ud800"])
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_forges_a_line(log: RecordingHandler, text: str) -> None:
    log.lines.clear()
    AuditLog(Clock()).write(replace(DECISION, sub=text, route=text, resource=text, request_id=text))
    (line,) = log.lines
    assert all(32 <= ord(letter) < 127 for letter in line)
    found = json.loads(line)
    assert (found["sub"], found["decision"]) == (text, "allowed")


@pytest.mark.parametrize("before", ["/traces/", "/", "x" * 500, ""])
def test_a_token_in_a_path_is_not_logged(log: RecordingHandler, before: str) -> None:
    token = forge()
    AuditLog(Clock()).write(replace(DECISION, route=f"{before}{token}", resource=token.rpartition(".")[0]))
    shown = log.decisions[0]
    assert (shown["route"], shown["resource"]) == (f"{before}[token]", "[token]")


def test_a_long_text_is_truncated(log: RecordingHandler) -> None:
    AuditLog(Clock()).write(replace(DECISION, route="/" + "x" * 100_000))
    assert len(log.lines[0]) < 1000


def test_a_flood_of_unauthenticated_callers_is_counted_not_logged(log: RecordingHandler) -> None:
    clock = Clock()
    audit = AuditLog(clock)
    for _ in range(5000):
        audit.write(UNKNOWN)
    audit.write(DECISION)
    assert len(log.lines) == 91
    clock.now += 1
    audit.write(UNKNOWN)
    assert log.decisions[91]["left_out"] == 4910
    assert len(log.lines) == 93
    for _ in range(200):
        audit.write(UNKNOWN)
    audit.close()
    audit.close()
    assert log.decisions[-1]["left_out"] == 111
    assert len(log.lines) == 183


def test_every_authenticated_caller_is_logged(log: RecordingHandler) -> None:
    audit = AuditLog(Clock())
    for _ in range(500):
        audit.write(replace(DECISION, decision=AuditDecision.FORBIDDEN))
    assert len(log.lines) == 500
