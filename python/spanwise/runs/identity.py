"""The identity of a run: verified values override the values of the request.

See docs/reference/api-runs.md#identity-precedence.
"""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


def effective(name: str, verified: str | None, given: str | None) -> str | None:
    """Returns the verified value, or the given one without a verified value. An empty text counts as None.

    Args:
        name: `user_id` or `session_id`. The warning names it if both values are given and differ.
        verified: the value from a verified token.
        given: the value from the request.
    """
    if not verified:
        return given or None
    if given and given != verified:
        _log.warning("the %s of the form differs from the verified one; the verified one is used", name)
    return verified
