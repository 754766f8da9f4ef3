"""Who is a run for? What middleware verified wins over what the form says.

Source: specification, "Identity precedence for runs".
"""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


def effective(name: str, verified: str | None, given: str | None) -> str | None:
    """Returns the verified value if there is one, else the given one; an empty text is none.

    Args:
        name: `user_id` or `session_id`, for the warning when both are there and differ.
        verified: what middleware lifted from a verified token.
        given: the form field.
    """
    if not verified:
        return given or None
    if given and given != verified:
        _log.warning("the form's %s differs from the verified one, which is used", name)
    return verified
