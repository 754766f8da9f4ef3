"""Parses `Accept` headers: lists of values with weights (RFC 9110, section 12.4)."""

from __future__ import annotations

ANY = "*/*"
MAX_CHARACTERS = 1024
"""Longer headers are ignored: 64 KiB of commas take 25 ms, and browsers send fewer than 200 characters."""


def accepted_weights(header: str) -> dict[str, float]:
    """Returns the values in a header such as `Accept-Encoding`, in lower case, with their weights.

    A malformed weight is 0. Parameters other than the weight are ignored. A header of more than `MAX_CHARACTERS` has no
    values.
    """
    weights: dict[str, float] = {}
    if len(header) > MAX_CHARACTERS:
        return weights
    for part in header.lower().split(","):
        value, *parameters = part.split(";")
        weights[value.strip()] = _weight(parameters)
    return weights


def weight_of_media_type(accepted: str, media_type: str) -> float:
    """Returns the weight that an `Accept` header gives to a media type: the weight of the most specific match."""
    weights = accepted_weights(accepted)
    ranges = (media_type, f"{media_type.partition('/')[0]}/*", ANY)
    return next((weights[each] for each in ranges if each in weights), 0.0)


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
