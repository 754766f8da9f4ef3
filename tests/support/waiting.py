"""Waits for a condition that another thread or process fulfils."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE_SECONDS = 0.01


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Waits until a condition holds, for at most some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"the condition does not hold after {seconds:g} s"
        time.sleep(_PAUSE_SECONDS)
