"""The log: one event is one line, whatever was put into it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class LineFormatter(logging.Formatter):
    """Writes control characters as escapes, and the lines of a traceback indented, so none can be forged."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the event's line, and below it the traceback if there is one."""
        instant = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        line = f"{instant} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        traceback = self.formatException(record.exc_info).splitlines() if record.exc_info else []
        return "\n  ".join(text.translate(_CONTROLS) for text in (line, *traceback))


def log_to_stderr(level: str) -> None:
    """Sends what `spanwise` logs, from `level` on, to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("spanwise")
    logger.handlers = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
