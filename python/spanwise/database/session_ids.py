"""Session ids for the databases of components, which do not distinguish our users.

See docs/reference/api-sessions.md#session-owners.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.database.records import SessionRecord

_SEPARATOR = "~"
_HASH_DIGITS = 32
_DERIVED = re.compile(rf"{_SEPARATOR}[0-9a-f]{{{_HASH_DIGITS}}}\Z")


def unique_session_id(session: SessionRecord, user_id: str | None) -> str:
    """Returns the session's id, or a derived id that no session of another user has.

    Args:
        session: the session.
        user_id: the caller of a run. Without authorization, users may run in each other's sessions, but a database of
            agno stores each session for one user only.
    """
    owner = session.user_id or ""
    is_owners = user_id is None or user_id == owner
    if session.is_first and is_owners:
        return session.session_id
    hashed = owner if is_owners else f"{owner}\0{user_id}"
    return f"{session.session_id}{_SEPARATOR}{sha256(hashed.encode()).hexdigest()[:_HASH_DIGITS]}"


def is_derived(session_id: str) -> bool:
    """Returns whether an id looks derived. Such an id is never used unchanged, because another session may own it."""
    return _DERIVED.search(session_id) is not None
