from __future__ import annotations

import logging

from hypothesis import given
from hypothesis import strategies as st

from spanwise.cli._log import LineFormatter


def record(message: str, error: Exception | None = None) -> logging.LogRecord:
    information = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("spanwise.test", logging.INFO, __file__, 1, "%s", (message,), information)


@given(st.text())
def test_an_event_is_one_line_whatever_it_says(message: str) -> None:
    line = LineFormatter().format(record(message))
    assert len(line.split("\n")) == 1
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line)


@given(st.text())
def test_no_line_of_a_traceback_looks_like_an_event(message: str) -> None:
    lines = LineFormatter().format(record("failed", ValueError(f"{message}\nforged"))).split("\n")
    assert len(lines) > 1
    assert all(line.startswith("  ") for line in lines[1:])


def test_an_event_says_when_how_bad_and_who() -> None:
    line = LineFormatter().format(record("ready"))
    assert line.endswith("Z info spanwise.test: ready")
