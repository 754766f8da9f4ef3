"""The log: one event is one line, whatever was put into it."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from spanwise.auth import audit
from spanwise.components.adapters import LOGGERS
from spanwise.http.middleware.request_id import current_request

if TYPE_CHECKING:
    from spanwise.settings import Settings

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class LineFormatter(logging.Formatter):
    """Lines for people: control characters as escapes, the lines of a traceback indented, so none can be forged."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the event's line, and below it the traceback if there is one."""
        line = f"{_instant(record)} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        traceback = self.formatException(record.exc_info).splitlines() if record.exc_info else []
        return "\n  ".join(text.translate(_CONTROLS) for text in (line, *traceback))


class JsonFormatter(logging.Formatter):
    """Lines for programs: one JSON object in ASCII, with the request that the event belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the event's line."""
        event = {"time": _instant(record), "level": record.levelname.lower(), "logger": record.name}
        event |= current_request.get()
        if record.name == audit.__name__:
            event |= json.loads(record.getMessage())  # a decision is an object already
        else:
            event["message"] = record.getMessage()
        if record.exc_info:
            event["traceback"] = self.formatException(record.exc_info)
        return json.dumps(event, ensure_ascii=True)


def _instant(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def log_to_stderr(settings: Settings) -> None:
    """Sends what `spanwise` and the frameworks it hosts log to standard error, as `settings` say."""
    handler = logging.StreamHandler()
    handler.setFormatter(_FORMATTERS[_form(settings.log_format)]())
    for name in ("spanwise", *LOGGERS):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(settings.log_level.upper())
        logger.propagate = False


_FORMATTERS = {"text": LineFormatter, "json": JsonFormatter}


def _form(wanted: Literal["auto", "text", "json"]) -> str:
    if wanted != "auto":
        return wanted
    return "text" if sys.stderr.isatty() else "json"
