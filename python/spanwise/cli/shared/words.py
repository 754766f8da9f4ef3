"""Formats numbers for people."""

from __future__ import annotations

_KILO = 1000
_SIZES = ("bytes", "KB", "MB", "GB", "TB")
_MINUTE_SECONDS = 60
_HOUR_SECONDS = 3600
_WHOLE = 10


def size(count: float) -> str:
    """Returns a number of bytes as text, such as `12.3 MB`."""
    unit = 0
    while round(count) >= _KILO and unit < len(_SIZES) - 1:
        count /= _KILO
        unit += 1
    return f"{count:.0f} {_SIZES[unit]}" if unit == 0 or count >= 100 else f"{count:.1f} {_SIZES[unit]}"  # noqa: PLR2004  # three digits


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun, such as `1 trace` or `20,000 traces`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def seconds(duration: float) -> str:
    """Returns a duration in seconds, such as `0.4 s`, `12 s`, `3 min 20 s` or `2 h 5 min`."""
    if duration < _WHOLE:
        return f"{duration:.1f} s"
    whole = round(duration)
    if whole < _MINUTE_SECONDS:
        return f"{whole} s"
    if whole < _HOUR_SECONDS:
        return f"{whole // _MINUTE_SECONDS} min {whole % _MINUTE_SECONDS} s"
    return f"{whole // _HOUR_SECONDS} h {whole % _HOUR_SECONDS // _MINUTE_SECONDS} min"
