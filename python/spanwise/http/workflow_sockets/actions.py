"""The actions of a WebSocket: they start, continue, follow and cancel runs of workflows.

See `docs/sockets.md#actions`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from starlette.requests import HTTPConnection

from spanwise.api.websocket import CancelMessage, ContinueMessage, ReconnectMessage, StartMessage
from spanwise.auth.scopes import Need
from spanwise.components import Kind
from spanwise.errors import BadRequestError, NotFoundError, UnauthenticatedError
from spanwise.factories.schema import check_input
from spanwise.http.requests.form import OBJECT_FIELDS, reject_fields
from spanwise.http.responses.event_stream import content_only
from spanwise.http.websocket.protocol import convert_message
from spanwise.runs.launch import LaunchRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from spanwise.api.websocket import ActionMessage
    from spanwise.auth.identity import Identity
    from spanwise.database import RunRecord
    from spanwise.fair_budget import Lease
    from spanwise.http.websocket.protocol import Message
    from spanwise.http.workflow_sockets.session import Action, SocketSession
    from spanwise.runs import RunEvent

RUN = Need.of("workflows:run")


async def start(session: SocketSession, received: Message) -> None:
    """Starts a run and sends its events."""
    message = convert_message(received, StartMessage)
    workflow_id = _workflow_id(session, message)
    if workflow_id is None:
        raise BadRequestError("workflow_id is required")
    identity = _require_scope(session, workflow_id)
    launch = _launch_request(session, identity, workflow_id, message)
    objects = {name: _object(message, name) or {} for name in OBJECT_FIELDS}
    run = await session.app_state.launcher.start(launch, message.message, objects, stream=True)
    await _follow(session, run.run_id, session.app_state.runs.subscribe(run), all_events=message.stream_events)


async def resume(session: SocketSession, received: Message) -> None:
    """Continues a paused run and sends its events."""
    reject_fields(received, OBJECT_FIELDS)
    message = convert_message(received, ContinueMessage)
    with session.app_state.response_budget.hold() as lease:
        record, identity = await _record(session, message, message.run_id, lease)
        session.app_state.runs.expect_paused(record)
        launch = _launch_request(session, identity, record.component_id, message)
        run = await session.app_state.launcher.resume(launch, record, message.step_requirements, stream=True)
    await _follow(session, run.run_id, session.app_state.runs.subscribe(run), all_events=message.stream_events)


async def reconnect(session: SocketSession, received: Message) -> None:
    """Sends the events of a run that the client lacks, then later ones. It calls no factory."""
    message = convert_message(received, ReconnectMessage)
    try:
        with session.app_state.response_budget.hold() as lease:
            await _record(session, message, message.run_id, lease)
    except NotFoundError as error:
        raise NotFoundError(f"Run {message.run_id[:64]} not found in buffer or database") from error
    after = -1 if message.last_event_index is None else max(-1, message.last_event_index)
    entries = session.app_state.runs.resubscribe(message.run_id, after)
    await _follow(session, message.run_id, entries, all_events=True)


async def cancel(session: SocketSession, received: Message) -> None:
    """Cancels a run, and confirms it once the cancellation is durable. It calls no factory."""
    message = convert_message(received, CancelMessage)
    with session.app_state.response_budget.hold() as lease:
        record, identity = await _record(session, message, message.run_id, lease)
        await session.app_state.runs.cancel(Kind.WORKFLOW, record.component_id, record.run_id, identity.owner_filter)
    await session.send_event("cancelled", run_id=record.run_id, workflow_id=record.component_id)


ACTIONS: Mapping[str, Action] = {
    "start-workflow": start,
    "continue-workflow": resume,
    "reconnect": reconnect,
    "cancel-workflow": cancel,
}
"""The actions that concern runs, by name."""


def _launch_request(
    session: SocketSession, identity: Identity, workflow_id: str, message: StartMessage | ContinueMessage
) -> LaunchRequest:
    entry = session.app_state.registry.entry(Kind.WORKFLOW, workflow_id)
    connection = HTTPConnection(session.websocket.scope)
    return LaunchRequest.of(entry, identity, connection, message, _object(message, "factory_input"))


async def _follow(
    session: SocketSession, run_id: str, entries: AsyncGenerator[RunEvent, None], *, all_events: bool
) -> None:
    """Sends the events of a run until it ends or pauses. The run does not wait for the client."""
    session.set_followed_run(run_id)
    async with aclosing(entries if all_events else content_only(entries, Kind.WORKFLOW)) as followed:
        async for entry in followed:
            await session.send_entry(entry)


async def _record(
    session: SocketSession, message: ActionMessage, run_id: str, lease: Lease
) -> tuple[RunRecord, Identity]:
    """Returns a run that the caller may access, and the caller. `lease` takes the memory of the run first."""
    workflow_id = _workflow_id(session, message)
    if workflow_id is not None:
        _require_scope(session, workflow_id)
    owner = _identity(session).owner_filter
    await session.app_state.runs.sessions.reserve_run(run_id, owner, lease)
    record = await session.app_state.runs.record(Kind.WORKFLOW, workflow_id, run_id, owner)
    if message.session_id and record.session_id != message.session_id:
        raise NotFoundError("Run not found")
    session.app_state.registry.entry(Kind.WORKFLOW, record.component_id)
    return record, _require_scope(session, record.component_id) if workflow_id is None else _identity(session)


def _workflow_id(session: SocketSession, message: ActionMessage) -> str | None:
    """Returns the workflow of a message. The id in the path takes precedence."""
    in_path: str | None = session.websocket.path_params.get("component_id")
    if in_path is not None and message.workflow_id not in (None, in_path):
        raise BadRequestError(f"this socket is for the workflow `{in_path}`, got another workflow_id")
    return in_path or message.workflow_id or None


def _require_scope(session: SocketSession, workflow_id: str) -> Identity:
    """Returns the caller after checking that it may run the workflow.

    Raises:
        ForbiddenError: the caller lacks the scope.
    """
    identity = _identity(session)
    session.app_state.authorizer.require(identity, RUN, session.audited(workflow_id))
    return identity


def _identity(session: SocketSession) -> Identity:
    """Returns the caller.

    Raises:
        UnauthenticatedError: the caller's token has expired since the message arrived.
    """
    if session.identity is None:
        raise UnauthenticatedError("Authentication required")
    return session.identity


def _object(message: StartMessage | ContinueMessage, name: str) -> dict[str, Any] | None:
    """Returns the member `name` as a JSON object; None if it is missing or null."""
    found = getattr(message, name)
    return None if found is None else check_input(found, name)
