"""Log formatters that write each event as exactly one line, and remove tokens from any text."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from spanwise.auth import audit
from spanwise.components.adapting import LOGGERS
from spanwise.http.middleware.request_id import current_request
from spanwise.masking import masked

if TYPE_CHECKING:
    from spanwise.settings import Settings

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class LineFormatter(logging.Formatter):
    """Formats events as text. Escapes control characters and indents tracebacks, so text cannot forge log lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of the event, followed by the traceback if there is one."""
        line = f"{_instant(record)} {record.levelname.lower()} {record.name}: {masked(record.getMessage())}"
        traceback = masked(self.formatException(record.exc_info)).splitlines() if record.exc_info else []
        return "\n  ".join(text.translate(_CONTROLS) for text in (line, *traceback))


class JsonFormatter(logging.Formatter):
    """Formats events as JSON objects in ASCII, with the ids of their request."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of the event."""
        event = {"time": _instant(record), "level": record.levelname.lower(), "logger": record.name}
        event |= current_request.get()
        if record.name == audit.__name__:
            event |= json.loads(record.getMessage())  # audit events are JSON already
        else:
            event["message"] = masked(record.getMessage())
        if record.exc_info:
            event["traceback"] = masked(self.formatException(record.exc_info))
        return json.dumps(event, ensure_ascii=True)


def _instant(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_for_people(settings: Settings) -> bool:
    """Returns whether the log is text for people rather than JSON."""
    return _resolve(settings.log_format) == "text"


def log_to_stderr(settings: Settings) -> None:
    """Sends the logs of Spanwise and of the frameworks it hosts to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(_FORMATTERS[_resolve(settings.log_format)]())
    for name in ("spanwise", *LOGGERS):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(settings.log_level.upper())
        logger.propagate = False


_FORMATTERS = {"text": LineFormatter, "json": JsonFormatter}


def _resolve(log_format: Literal["auto", "text", "json"]) -> str:
    if log_format != "auto":
        return log_format
    return "text" if sys.stderr.isatty() else "json"
