"""Says up to when an answer knows everything that was acknowledged."""

from __future__ import annotations

from datetime import UTC, datetime

AS_OF_HEADER = "Spanwise-As-Of"


def format_instant(seconds: float) -> str:
    """Returns an instant, given in seconds since 1970, as ISO 8601 in UTC with microseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
