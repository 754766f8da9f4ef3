"""Resolves a session id for a caller, because every verified user has separate session ids.

See docs/reference/api-sessions.md#session-owners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from spanwise.database import SessionKey
from spanwise.errors import ConflictError

if TYPE_CHECKING:
    from spanwise.database import Database, RunRecord, SessionRecord


class SessionAddress(Struct, frozen=True):
    """The address of an existing session.

    Attributes:
        session_id: its id.
        owner: the only user whose sessions the caller may access; None for everyone's.
        user_id: the user that the caller names as the owner; empty if it names no user.
    """

    session_id: str
    owner: str | None = None
    user_id: str | None = None


def find_session(database: Database, address: SessionAddress) -> SessionRecord | None:
    """Returns the session at an address; None if it does not exist or the caller may not access it.

    Raises:
        ConflictError: several users have a session with that id, and the caller may access them all.
    """
    if address.owner is not None:
        names_another_user = address.user_id not in (None, "", address.owner)
        return None if names_another_user else database.session(SessionKey(address.owner, address.session_id))
    if address.user_id:
        return database.session(SessionKey(address.user_id, address.session_id))
    found = database.sessions_with_id(address.session_id, 2)
    if len(found) <= 1:
        return found[0] if found else None
    nobodys = None if address.user_id is None else database.session(SessionKey("", address.session_id))
    if nobodys is None:
        raise ConflictError(
            f"several users have a session with id '{address.session_id}': expected `user_id` to name one"
        )
    return nobodys


def begin_run(
    database: Database, session: SessionRecord, run: RunRecord, *, is_verified: bool
) -> tuple[SessionRecord, RunRecord]:
    """Stores a new run, and its session if that is new. Returns both as stored.

    Args:
        database: the database within one transaction, so that no other change can interfere.
        session: the session to create if it does not exist.
        run: the run.
        is_verified: True if the user is verified; all other callers share the sessions of everyone.

    Raises:
        ConflictError: several users have a session with that id, and the caller is not one of them.
    """
    if not is_verified:
        session = _shared_session(database, session)
    run = replace(run, owner=session.key.owner)
    return database.begin(session, run), run


def _shared_session(database: Database, session: SessionRecord) -> SessionRecord:
    own = database.session(session.key)
    if own is not None:
        return own
    return find_session(database, SessionAddress(session.session_id)) or session
