"""The header with the time through which results are complete."""

from __future__ import annotations

from datetime import UTC, datetime

AS_OF_HEADER = "Spanwise-As-Of"


def format_instant(seconds: float) -> str:
    """Returns an instant as ISO 8601 in UTC with microseconds.

    Args:
        seconds: the seconds since 1970.
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
