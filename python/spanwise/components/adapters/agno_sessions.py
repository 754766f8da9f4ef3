"""Sessions in agno's databases: the initial state of a run, the session id in the database, and deletion.

See docs/reference/api-sessions.md#session-state and docs/reference/api-sessions.md#session-owners.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from agno.db.base import AsyncBaseDb, BaseDb, SessionType
from agno.db.in_memory import InMemoryDb
from agno.session.agent import AgentSession
from agno.session.team import TeamSession
from agno.session.workflow import WorkflowSession

from spanwise.components.base import Kind
from spanwise.components.callables import in_thread
from spanwise.components.content import plain
from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeAlias

    from spanwise.components.base import Outcome
    from spanwise.components.call import Call

    AnySession: TypeAlias = AgentSession | TeamSession | WorkflowSession

_SESSIONS: dict[Kind, Any] = {Kind.AGENT: AgentSession, Kind.TEAM: TeamSession, Kind.WORKFLOW: WorkflowSession}
_ID_MEMBERS = {"session_id", "current_session_id"}
"""The members of agno's events and run outputs that hold the session id."""
_log = logging.getLogger(__name__)


class SessionInDb:
    """A session in the database of an agno object, during one run.

    Attributes:
        call: the call that agno's object runs with. Its session id is the id in that database.
    """

    def __init__(self, own: Any, kind: Kind, call: Call) -> None:  # noqa: ANN401  # an agent, a team or a workflow
        """Prepares the call.

        Args:
            own: agno's object.
            kind: its kind.
            call: the call of the service.
        """
        self._db: BaseDb | AsyncBaseDb | None = own.db
        self._component_id: str = own.id
        self._kind = kind
        self._public_id = call.session_id
        self._has_other_id = own.db is not None and call.unique_session_id not in (None, call.session_id)
        self.call = call
        if self._has_other_id:
            emit = call.emit_event
            self.call = replace(
                call.with_listener(lambda event: emit(self._with_public_id(event))),
                session_id=cast("str", call.unique_session_id),
            )

    async def write_state(self) -> None:
        """Stores the state of the session in the database, unless the session has no state yet.

        agno neither reads nor writes the row of another user. If the row belongs to another user, the run gets the
        whole state as an argument instead.
        """
        state = self.call.stored_state
        if self._db is None or state is None:
            return
        found = await self._read()
        if found is not None and not self._is_visible(found.user_id):
            _log.warning("the db of %s `%s` has a session of that id of another user", self._kind, self._component_id)
            self.call = replace(self.call, given_state=self.call.session_state)
            return
        stored = plain(dict(state))
        if found is None:
            if stored:
                await _call(self._db, "upsert_session", session=self._new(stored))
            return
        data = found.session_data or {}
        if data.get("session_state", {}) != stored or found.user_id != (self.call.user_id or found.user_id):
            found.session_data = {**data, "session_state": stored}
            found.user_id = self.call.user_id or found.user_id  # agno reads only sessions of the caller
            await _call(self._db, "upsert_session", session=found)

    async def read_state(self) -> dict[str, Any] | None:
        """Returns the session state after the run: from the database if possible, otherwise from the call."""
        if self._db is None:
            return self.call.session_state
        found = await _call(self._db, "get_session", session_id=self.call.session_id, deserialize=False)
        if found is None or not self._is_visible(found["user_id"]):
            return self.call.session_state
        state: dict[str, Any] | None = (found.get("session_data") or {}).get("session_state")
        return state

    def public(self, outcome: Outcome) -> Outcome:
        """Returns an outcome with the public session id, except in the state from which agno resumes."""
        if self._has_other_id:
            outcome.content = self._with_public_id(outcome.content)
            if outcome.pause is not None:
                outcome.pause.requirements = self._with_public_id(outcome.pause.requirements)
            if outcome.reported is not None:
                event, result = map(self._with_public_id, (outcome.reported.event, outcome.reported.result))
                outcome.reported = replace(outcome.reported, event=event, result=result)
        return outcome

    def _with_public_id(self, value: Any) -> Any:  # noqa: ANN401  # any JSON
        if isinstance(value, list):
            return [self._with_public_id(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self._public_id
            if name in _ID_MEMBERS and each == self.call.session_id
            else self._with_public_id(each)
            for name, each in value.items()
        }

    def _is_visible(self, user_id: str | None) -> bool:
        """Returns whether agno can read the session of a user in this run. Without a user, agno reads all sessions."""
        return self.call.user_id is None or user_id in (None, self.call.user_id)

    async def _read(self) -> AnySession | None:
        if self._db is None:
            return None
        kind = SessionType(self._kind)
        found: AnySession | None = await _call(
            self._db, "get_session", session_id=self.call.session_id, session_type=kind
        )
        return found

    def _new(self, state: dict[str, Any]) -> AnySession:
        session: AnySession = _SESSIONS[self._kind](
            session_id=self.call.session_id,
            user_id=self.call.user_id,
            session_data={"session_state": state},
            created_at=int(time.time()),
            **{f"{self._kind}_id": self._component_id},
        )
        return session


def keeps_sessions(db: object) -> bool:
    """Returns whether an object is an agno database."""
    return isinstance(db, BaseDb | AsyncBaseDb)


async def delete_session(db: BaseDb | AsyncBaseDb, session_id: str, user_ids: Collection[str | None]) -> None:
    """Deletes a session from a database, unless it belongs to another user. A missing session is not an error.

    Args:
        db: the database.
        session_id: the id of the session in this database.
        user_ids: the possible owners; None means a session without a user.

    Raises:
        UnavailableError: the database did not delete the session.
        Exception: any error of the database.
    """
    found: Any = await _call(db, "get_session", session_id=session_id, deserialize=False)
    if found is None:  # a failing database returns None as well, so it is tested with an empty session
        empty = AgentSession(session_id=session_id, session_data={}, created_at=int(time.time()))
        found = await _call(db, "upsert_session", session=empty, deserialize=False)
    elif (found.get("user_id") or None) not in user_ids:
        return
    if found is None or not await _call(db, "delete_session", session_id=session_id):
        raise UnavailableError(f"the database did not delete session `{session_id}`")


async def _call(db: BaseDb | AsyncBaseDb, method: str, **arguments: object) -> Any:  # noqa: ANN401  # as the method
    """Calls a method of a database without blocking the event loop."""
    function = getattr(db, method)
    if isinstance(db, AsyncBaseDb):
        return await function(**arguments)
    if isinstance(db, InMemoryDb):  # it never blocks, and is not thread-safe
        return function(**arguments)
    return await in_thread(lambda: function(**arguments))
