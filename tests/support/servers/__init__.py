"""Servers of other projects on the loopback interface: object stores, PostgreSQL, and a fault-injecting proxy."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

NO_SKIPS = "TESTS_SKIP_NOTHING"
"""The environment variable that turns a missing server into a failure, as in CI."""


def skip_missing(message: str, *, is_installable: bool = True) -> NoReturn:
    """Skips the test because a server is missing. Fails it if `NO_SKIPS` is set and the server could be installed."""
    assert NO_SKIPS not in os.environ or not is_installable, message
    pytest.skip(message)
