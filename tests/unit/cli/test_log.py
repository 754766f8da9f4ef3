from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.auth.audit import AuditDecision, AuditEvent, AuditLog
from spanwise.cli.shared.log import JsonFormatter, LineFormatter
from spanwise.http.middleware.request_id import current_request, trace_id_of


def record(message: str, error: Exception | None = None) -> logging.LogRecord:
    information = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("spanwise.test", logging.INFO, __file__, 1, "%s", (message,), information)


@given(st.text())
def test_an_event_is_one_line_whatever_its_message(message: str) -> None:
    line = LineFormatter().format(record(message))
    assert len(line.split("\n")) == 1
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line)


@given(st.text())
def test_no_line_of_a_traceback_looks_like_an_event(message: str) -> None:
    lines = LineFormatter().format(record("failed", ValueError(f"{message}\nforged"))).split("\n")
    assert len(lines) > 1
    assert all(line.startswith("  ") for line in lines[1:])


def test_an_event_has_time_level_and_logger() -> None:
    line = LineFormatter().format(record("ready"))
    assert line.endswith("Z info spanwise.test: ready")


@given(st.text(), st.booleans())
def test_a_json_event_is_one_object_on_one_line(message: str, failed: bool) -> None:  # noqa: FBT001
    line = JsonFormatter().format(record(message, ValueError(message) if failed else None))
    assert line.isascii()
    assert line.isprintable()
    event = json.loads(line)
    assert (event["level"], event["logger"], event["message"]) == ("info", "spanwise.test", message)
    assert ("traceback" in event) == failed


def test_an_event_names_the_request_it_belongs_to() -> None:
    token = current_request.set({"request_id": "r1", "trace_id": "a" * 32})
    event = json.loads(JsonFormatter().format(record("ready")))
    current_request.reset(token)
    assert (event["request_id"], event["trace_id"]) == ("r1", "a" * 32)
    assert "request_id" not in json.loads(JsonFormatter().format(record("ready")))


def test_a_decision_is_an_event_of_its_own_kind(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        AuditLog().write(
            AuditEvent(
                sub="a\nb", method="GET", route="/", resource=None, decision=AuditDecision.ALLOWED, request_id="r1"
            )
        )
    (decided,) = caplog.records
    event = json.loads(JsonFormatter().format(decided))
    assert (event["logger"], event["sub"], event["decision"]) == ("spanwise.auth.audit", "a\nb", "allowed")
    assert "message" not in event


@pytest.mark.parametrize(
    ("traceparent", "trace_id"),
    [
        (f"00-{'a' * 32}-{'b' * 16}-01", "a" * 32),
        (f"cc-{'1' * 32}-{'b' * 16}-00", "1" * 32),
        (f"ff-{'a' * 32}-{'b' * 16}-01", None),
        (f"00-{'0' * 32}-{'b' * 16}-01", None),
        (f"00-{'a' * 32}-{'0' * 16}-01", None),
        (f"00-{'A' * 32}-{'b' * 16}-01", None),
        (f"00-{'a' * 31}-{'b' * 16}-01", None),
        (f"00-{'a' * 32}-{'b' * 16}-01\n", None),
        ("", None),
    ],
)
def test_a_traceparent_is_read_as_it_is_defined(traceparent: str, trace_id: str | None) -> None:
    assert trace_id_of(traceparent) == trace_id
