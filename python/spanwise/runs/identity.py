"""The identity of a run: what authorization verified overrides what the request says.

See docs/reference/api-runs.md#identity-precedence.
"""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


def effective(name: str, verified: str | None, given: str | None) -> str | None:
    """Returns the verified value if there is one, otherwise the given one; an empty text counts as None.

    Args:
        name: `user_id` or `session_id`, for the warning if both values are given and differ.
        verified: the value from a verified token.
        given: the value from the request.
    """
    if not verified:
        return given or None
    if given and given != verified:
        _log.warning("the form's %s differs from the verified one, which is used", name)
    return verified
