"""What can be asked in a WebSocket: runs of workflows, begun, continued, followed again and cancelled.

Source: specification, "Run-related routes that use factories"; compat 4.5.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import HTTPConnection

from spanwise.auth.scopes import Need
from spanwise.components import Kind
from spanwise.errors import BadRequestError, NotFoundError, UnauthenticatedError, ValidationError
from spanwise.factories.schema import check_input
from spanwise.http.requests.component import component_of, context_of
from spanwise.http.requests.form import GIVEN, NOT_BUILT, refuse
from spanwise.http.responses.event_stream import pieces
from spanwise.runs import RunRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from spanwise.auth.identity import Identity
    from spanwise.database import RunRecord
    from spanwise.http.websocket.session import SocketSession
    from spanwise.runs import RunEvent

Message: TypeAlias = dict[str, Any]
Shape = TypeVar("Shape", bound="Asked")

RUN = Need.of("workflows:run")


class Asked(Struct, frozen=True, kw_only=True):
    """What every message may say. Members that a message does not name are ignored."""

    workflow_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None


class Start(Asked, frozen=True, kw_only=True):
    """Begins a run."""

    message: str
    factory_input: Any = None
    session_state: Any = None
    dependencies: Any = None
    metadata: Any = None
    stream_events: bool = True


class Continue(Asked, frozen=True, kw_only=True):
    """Continues a paused run."""

    run_id: str
    step_requirements: tuple[dict[str, Any], ...] = ()
    factory_input: Any = None
    stream_events: bool = True


class Reconnect(Asked, frozen=True, kw_only=True):
    """Follows a run again, from the last event that the caller has."""

    run_id: str
    last_event_index: int | None = None


class Cancel(Asked, frozen=True, kw_only=True):
    """Ends a run."""

    run_id: str


async def start(session: SocketSession, message: Message) -> None:
    """Begins a run and sends its events."""
    asked = _shape(message, Start)
    workflow_id = _expected(_workflow_id(session, asked))
    identity = _demand(session, workflow_id)
    entry = session.backend.registry.entry(Kind.WORKFLOW, workflow_id)
    context = context_of(identity, asked, _given(asked, "factory_input"), HTTPConnection(session.websocket.scope))
    given = {name: _given(asked, name) or {} for name in GIVEN}
    component = await component_of(entry, context, session.backend)
    request = RunRequest(
        message=asked.message,
        user_id=context.user_id,
        session_id=context.session_id,
        owner=identity.owner_filter,
        traceparent=session.websocket.headers.get("traceparent"),
        **given,
    )
    live = await session.backend.runs.start(component, request)
    await _show(session, live.run_id, session.backend.runs.subscribe(live), every=asked.stream_events)


async def go_on(session: SocketSession, message: Message) -> None:
    """Continues a paused run and sends its events."""
    refuse(message, GIVEN)
    asked = _shape(message, Continue)
    record, identity = await _record(session, asked, asked.run_id)
    session.backend.runs.expect_paused(record)
    entry = session.backend.registry.entry(Kind.WORKFLOW, record.component_id)
    context = context_of(identity, asked, _given(asked, "factory_input"), HTTPConnection(session.websocket.scope))
    component = await component_of(entry, context, session.backend)
    traceparent = session.websocket.headers.get("traceparent")
    live = await session.backend.runs.resume(component, record, asked.step_requirements, traceparent)
    await _show(session, live.run_id, session.backend.runs.subscribe(live), every=asked.stream_events)


async def reconnect(session: SocketSession, message: Message) -> None:
    """Sends the events of a run that the caller does not have, then those to come. No factory is called."""
    asked = _shape(message, Reconnect)
    try:
        record, _ = await _record(session, asked, asked.run_id)
    except NotFoundError as error:
        raise NotFoundError(f"Run {asked.run_id[:64]} not found in buffer or database") from error
    after = -1 if asked.last_event_index is None else max(-1, asked.last_event_index)
    entries = session.backend.runs.resubscribe(record.run_id, after)
    await _show(session, record.run_id, entries, every=True)


async def cancel(session: SocketSession, message: Message) -> None:
    """Ends a run, and says so when that is durable. No factory is called."""
    asked = _shape(message, Cancel)
    record, identity = await _record(session, asked, asked.run_id)
    await session.backend.runs.cancel(Kind.WORKFLOW, record.component_id, record.run_id, identity.owner_filter)
    await session.say("cancelled", run_id=record.run_id, workflow_id=record.component_id)


ACTIONS: dict[str, Callable[[SocketSession, Message], Awaitable[None]]] = {
    "start-workflow": start,
    "continue-workflow": go_on,
    "reconnect": reconnect,
    "cancel-workflow": cancel,
}
"""Every action that concerns runs, by its name."""


async def _show(session: SocketSession, run_id: str, entries: AsyncGenerator[RunEvent, None], *, every: bool) -> None:
    """Sends events of a run, until it ends or pauses. The run does not wait for them."""
    session.follows(run_id)
    async with aclosing(entries if every else pieces(entries, Kind.WORKFLOW)) as shown:
        async for entry in shown:
            await session.show(entry)


async def _record(session: SocketSession, asked: Asked, run_id: str) -> tuple[RunRecord, Identity]:
    """Returns a run that the caller may touch, and the caller."""
    workflow_id = _workflow_id(session, asked)
    if workflow_id is not None:
        _demand(session, workflow_id)
    owner = _identity(session).owner_filter
    record = await session.backend.runs.record(Kind.WORKFLOW, workflow_id, run_id, owner)
    if asked.session_id and record.session_id != asked.session_id:
        raise NotFoundError("Run not found")
    session.backend.registry.entry(Kind.WORKFLOW, record.component_id)
    return record, _demand(session, record.component_id) if workflow_id is None else _identity(session)


def _workflow_id(session: SocketSession, asked: Asked) -> str | None:
    """Returns the workflow that a message is about: the path's, if it has one."""
    of_path: str | None = session.websocket.path_params.get("component_id")
    if of_path is not None and asked.workflow_id not in (None, of_path):
        raise BadRequestError(f"this socket is for the workflow `{of_path}`, got another workflow_id")
    return of_path or asked.workflow_id or None


def _expected(workflow_id: str | None) -> str:
    if workflow_id is None:
        raise BadRequestError("workflow_id is required")
    return workflow_id


def _demand(session: SocketSession, workflow_id: str) -> Identity:
    identity = _identity(session)
    session.backend.admission.demand(identity, RUN, session.asked(workflow_id))
    return identity


def _identity(session: SocketSession) -> Identity:
    """Returns the caller.

    Raises:
        UnauthenticatedError: its token expired since the message came.
    """
    if session.identity is None:
        raise UnauthenticatedError("Authentication required")
    return session.identity


def _given(asked: Start | Continue, name: str) -> dict[str, Any] | None:
    found = getattr(asked, name)
    return None if found is None else check_input(found, name)


def _shape(message: Message, shape: type[Shape]) -> Shape:
    """Returns a message as its action needs it.

    Raises:
        BadRequestError: it has a member that nothing would heed.
        ValidationError: it does not fit; the message ends with the place.
    """
    refuse(message, NOT_BUILT)
    try:
        return msgspec.convert(message, shape)
    except msgspec.ValidationError as error:
        raise ValidationError(str(error)) from error
