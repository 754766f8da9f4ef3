"""One WebSocket from acceptance to close: it reads messages, runs their actions, and closes when idle.

The server neither sends nor reports ping frames, so only messages show that a client is alive. A socket closes after a
minute without messages, unless it follows a run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from starlette.websockets import WebSocketDisconnect

from spanwise.auth.claims import ExpiredTokenError
from spanwise.auth.processor_budget import ProcessorMeter
from spanwise.errors import BadRequestError, UnauthenticatedError, UnavailableError, ValidationError
from spanwise.fair_budget import Lease, current_caller
from spanwise.http.core.authorization import AuditedRequest
from spanwise.http.requests.caller import address_of, caller_key
from spanwise.http.responses.errors import as_spanwise_error
from spanwise.http.websocket.limits import MessageRate
from spanwise.http.websocket.protocol import (
    AUTHENTICATION_SECONDS,
    CLOSE_SECONDS,
    GOING_AWAY,
    INTERNAL_ERROR,
    MAX_ACTIONS,
    MAX_FAILED_AUTHENTICATIONS,
    MAX_MESSAGE_BYTES,
    MAX_MESSAGES_PER_SECOND,
    MAX_UNKNOWN_MESSAGE_BYTES,
    MESSAGE_TOO_BIG,
    METHOD,
    PING_SECONDS,
    POLICY_VIOLATION,
    SILENCE_SECONDS,
    TRY_AGAIN_LATER,
    UNSUPPORTED_DATA,
    decode_message,
)
from spanwise.http.websocket.upgrade import wire_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.websockets import WebSocket

    from spanwise.auth.identity import Identity
    from spanwise.http.core.app_state import AppState
    from spanwise.http.websocket.limits import SocketSlot
    from spanwise.http.websocket.protocol import Message
    from spanwise.runs import RunEvent

Action: TypeAlias = "Callable[[SocketSession, Message], Awaitable[None]]"
"""Handles the messages of one kind. The session runs it as a task."""

_log = logging.getLogger(__name__)


class SocketSession:
    """One socket and its caller.

    Attributes:
        websocket: the socket.
        app_state: the parts of the service.
        route: the path of its route.
        identity: the caller; None until it has authenticated.
        user_id: the user whose quota the socket counts against.
        address: the address of its client.
    """

    def __init__(self, websocket: WebSocket, route: str, app_state: AppState, actions: Mapping[str, Action]) -> None:
        """Prepares to serve a socket that is not accepted yet.

        Args:
            websocket: the socket.
            route: the path of its route.
            app_state: the parts of the service.
            actions: the actions that messages may request, by name.
        """
        self.websocket = websocket
        self.app_state = app_state
        self.route = route
        self._actions = actions
        self.identity: Identity | None = None
        self.user_id: str | None = None
        self.address = address_of(websocket)
        self._slot: SocketSlot | None = None
        self._wire = wire_of(websocket.scope)
        self._buffered = Lease(app_state.sockets.buffered_bytes, "")
        self._meter = ProcessorMeter(app_state.unknown_callers, caller_key(websocket, None))
        if self._wire is not None:
            self._wire.meter = self._meter
        self._authorization: list[str] = websocket.headers.getlist("authorization")
        self._failed_authentications = 0
        self._last_message_at = self._unauthenticated_since = self._token_checked_at = time.monotonic()
        self._message_rate = MessageRate()
        self._action_tasks: set[asyncio.Task[None]] = set()
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._send_lock = asyncio.Lock()
        self._ending: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._is_draining = False

    def set_identity(self, identity: Identity) -> None:
        """Sets the caller, and cancels the actions of a different previous caller.

        Raises:
            UnavailableError: too many sockets of this user are open.
        """
        current_caller.set(caller_key(self.websocket, identity))
        if self.identity is None or identity.user_id != self.user_id:
            slot = self.app_state.sockets.take_slot(identity.user_id)
            self._cancel_actions()
            self._release_slot()
            self._slot = slot
            self.app_state.sockets.recognize(self)
            self._bound_messages(MAX_MESSAGE_BYTES)
            self._meter.move(self.app_state.sockets.processor, current_caller.get())
        self.identity, self.user_id = identity, identity.user_id
        self._failed_authentications = 0

    def leave(self) -> None:
        """Releases the socket's slots."""
        self._release_slot()
        self.app_state.sockets.leave(self)

    def _unset_identity(self) -> None:
        """Resets the caller to unknown."""
        self._cancel_actions()
        self._release_slot()
        self.identity, self.user_id, self._unauthenticated_since = None, None, time.monotonic()
        self._bound_messages(MAX_UNKNOWN_MESSAGE_BYTES)
        self._meter.move(self.app_state.unknown_callers, caller_key(self.websocket, None))
        self.app_state.sockets.forget(self)

    def _release_slot(self) -> None:
        self._buffered.release()
        if self._slot is not None:
            self._slot.release()
            self._slot = None

    def _bound_messages(self, max_bytes: int) -> None:
        """Limits the client's messages. Messages of a known caller count against its share of the memory."""
        if self._wire is None:
            return
        self._buffered = Lease(self.app_state.sockets.buffered_bytes, current_caller.get())
        is_known = max_bytes > MAX_UNKNOWN_MESSAGE_BYTES
        self._wire.max_message_bytes = max_bytes
        self._wire.on_buffered = self._buffered.resize if is_known else lambda _: None

    async def serve(self) -> None:
        """Accepts the socket and serves it until either side ends it."""
        try:
            await self.websocket.accept()
        except OSError as error:
            _log.info("socket %s closed before it was accepted: %s", self.websocket.state.request_id, error)
            return
        needs_token = self.identity is None
        working = [asyncio.create_task(self._read(needs_token=needs_token)), asyncio.create_task(self._watch())]
        ending: list[asyncio.Future[Any]] = [*working, self._ending]
        try:
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._cancel_actions()
            for task in working:
                task.cancel()
            ended = await asyncio.gather(*working, *self._action_tasks, return_exceptions=True)
        self._log_failures(ended)
        await self._close()

    def _log_failures(self, ended: list[Any]) -> None:
        failures = [end for end in ended if isinstance(end, Exception) and not isinstance(end, WebSocketDisconnect)]
        for failure in failures:
            _log.error("socket %s failed", self.websocket.state.request_id, exc_info=failure)
        if failures:
            self.end(INTERNAL_ERROR, "the service failed")

    async def _close(self) -> None:
        if self._ending.done():
            code, reason = self._ending.result()
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.websocket.close(code, reason)
            except (TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
                _log.debug("socket %s was already closed", self.websocket.state.request_id)

    def end(self, code: int, reason: str) -> None:
        """Ends the socket. Only the first call has an effect."""
        if not self._ending.done():
            self._ending.set_result((code, reason))

    def drain(self) -> None:
        """Ends the socket after the runs that it follows."""
        self._is_draining = True
        if not self._action_tasks:
            self.end(GOING_AWAY, "the service is shutting down")

    async def send_event(self, event: str, **members: object) -> None:
        """Sends an event that belongs to no run. None values are omitted."""
        found = {name: value for name, value in members.items() if value is not None}
        await self._send(msgspec.json.encode({"event": event, **found}).decode())

    async def send_entry(self, entry: RunEvent) -> None:
        """Sends one event of a run."""
        await self._send(entry.body.decode())

    async def _send(self, text: str) -> None:
        deadline = self.app_state.response_budget.deadline_seconds
        try:
            async with self._send_lock, asyncio.timeout(deadline):
                await self.websocket.send_text(text)
        except (TimeoutError, RuntimeError, OSError) as error:
            self.end(POLICY_VIOLATION, f"nothing was read for {deadline:g} s")
            raise WebSocketDisconnect(POLICY_VIOLATION) from error

    async def _read(self, *, needs_token: bool) -> None:
        await self.send_event("connected", message="Connected to workflow events", requires_auth=needs_token)
        while True:
            message = await self.websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            self._last_message_at = time.monotonic()
            text = message.get("text")
            if text is None:
                self.end(UNSUPPORTED_DATA, "expected text")
            elif self._message_rate.is_exceeded(self._last_message_at):
                self.end(POLICY_VIOLATION, f"more than {MAX_MESSAGES_PER_SECOND} messages in a second")
            elif len(text.encode()) > MAX_MESSAGE_BYTES:
                self.end(MESSAGE_TOO_BIG, f"expected a message of at most {MAX_MESSAGE_BYTES} bytes")
            elif self.identity is None:
                await self._handle_unknown(text)
            else:
                await self._handle(text)
            if self._ending.done():
                return

    async def _handle_unknown(self, text: str) -> None:
        """Handles a message of an unknown caller within the processor budget of unknown callers."""
        budget, caller = self.app_state.unknown_callers, caller_key(self.websocket, None)
        try:
            await budget.admit(caller, len(text))
        except UnavailableError as error:
            await self._end_unavailable(error)
            return
        await budget.run(caller, self._handle(text), lambda: self.identity is not None)

    async def _handle(self, text: str) -> None:
        action: object = None
        try:
            message = self._decode(text)
            action = message.get("action")
            if action == "authenticate":
                await self._authenticate(message.get("token"))
            elif self.identity is None:
                error = "Authentication required: send the action authenticate first"
                await self.send_event("auth_required", error=error)
            elif action == "ping":
                await self.send_event("pong")
            else:
                self._start_action(action, message)
        except (BadRequestError, ValidationError, UnavailableError) as error:
            await self.send_error(error, action=action if isinstance(action, str) else None)

    def _decode(self, text: str) -> Message:
        if self.identity is None:
            return decode_message(text)  # already measured
        with self._meter.counted():
            return decode_message(text)

    async def _end_unavailable(self, error: UnavailableError) -> None:
        await self.send_event("auth_error", error=str(error), error_type="server_error")
        self.end(TRY_AGAIN_LATER, str(error))

    async def _authenticate(self, token: object) -> None:
        authorization = [f"Bearer {token}"] if isinstance(token, str) else []
        try:
            self.set_identity(await self._verified(authorization))
        except UnauthenticatedError as error:
            self._failed_authentications += 1
            kind = "expired" if isinstance(error, ExpiredTokenError) else "invalid_token"
            await self.send_event("auth_error", error=str(error), error_type=kind)
            if self._failed_authentications >= MAX_FAILED_AUTHENTICATIONS:
                self.end(POLICY_VIOLATION, "authentication failed")
            return
        except UnavailableError as error:
            await self._end_unavailable(error)
            return
        self._authorization = authorization
        text = "Authentication successful. You can now send commands."
        await self.send_event("authenticated", message=text, user_id=self.user_id)

    async def _verified(self, authorization: list[str]) -> Identity:
        """Returns the identity of a token. A new token of a known caller counts as one of an unknown caller.

        Raises:
            UnauthenticatedError: the token is invalid.
            UnavailableError: the share is used up.
        """
        authorizer, budget = self.app_state.authorizer, self.app_state.unknown_callers
        if self.identity is None or authorizer.knows(authorization):  # messages of unknown callers are already measured
            return await authorizer.authenticate(self.websocket, authorization, self.audited(None))
        caller = caller_key(self.websocket, None)
        await budget.admit(caller, sum(map(len, authorization)))
        state = self.websocket.state
        state.is_known = False
        verifying = authorizer.authenticate(self.websocket, authorization, self.audited(None))
        return await budget.run(caller, verifying, lambda: state.is_known)

    def audited(self, resource: str | None) -> AuditedRequest:
        """Returns the current request as the audit log describes it."""
        return AuditedRequest(METHOD, self.route, resource, self.websocket.state.request_id)

    def _start_action(self, action: object, message: Message) -> None:
        if not isinstance(action, str) or action not in self._actions:
            raise BadRequestError(f"Unknown action: {str(action)[:64]}")
        if self._is_draining:
            raise UnavailableError("the service is shutting down")
        if len(self._action_tasks) >= MAX_ACTIONS:
            raise UnavailableError(f"more than {MAX_ACTIONS} runs at once in one socket")
        task = asyncio.create_task(self._run_action(action, message))
        self._action_tasks.add(task)
        task.add_done_callback(self._on_action_done)

    def _on_action_done(self, task: asyncio.Task[None]) -> None:
        self._action_tasks.discard(task)
        self._last_message_at = time.monotonic()  # silence is measured from the end of the last action
        for run_id, follower in list(self._followers.items()):
            if follower is task:
                del self._followers[run_id]
        if self._is_draining and not self._action_tasks:
            self.end(GOING_AWAY, "the service is shutting down")
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._log_failures([error])

    async def _run_action(self, action: str, message: Message) -> None:
        ids = {name: message.get(name) for name in ("workflow_id", "run_id")}
        known = {name: value for name, value in ids.items() if isinstance(value, str)}
        try:
            await self._actions[action](self, message)
        except WebSocketDisconnect:
            return
        except Exception as error:  # noqa: BLE001  # every failure is reported to the client
            await self.send_error(error, action=action, **known)

    async def send_error(self, error: Exception, **members: object) -> None:
        """Reports an error to the client. The cause of an internal error appears only in the log."""
        reported = as_spanwise_error(self.websocket, error)
        self.app_state.metrics.add_error(reported)
        await self.send_event("error", error=str(reported), error_code=reported.error_code, **members)

    def set_followed_run(self, run_id: str) -> None:
        """Makes the current action the follower of a run, and cancels the previous follower."""
        task = asyncio.current_task()
        previous = self._followers.get(run_id)
        if previous is not None and previous is not task:
            previous.cancel()
        if task is not None:
            self._followers[run_id] = task

    def _cancel_actions(self) -> None:
        for task in self._action_tasks:
            task.cancel()

    async def _watch(self) -> None:
        """Sends pings, and ends a socket that is unauthenticated or silent for too long."""
        pinged = time.monotonic()
        while True:
            await asyncio.sleep(1)
            now = time.monotonic()
            if self.identity is None and now - self._unauthenticated_since >= AUTHENTICATION_SECONDS:
                self.end(POLICY_VIOLATION, f"no authentication within {AUTHENTICATION_SECONDS:g} s")
            elif not self._action_tasks and now - self._last_message_at >= SILENCE_SECONDS:
                self.end(GOING_AWAY, f"no message was received for {SILENCE_SECONDS:g} s")
            elif self.identity is not None:
                await self._check_token(self.identity, now)
            if now - pinged >= PING_SECONDS:
                pinged = now
                await self.send_event("ping")

    async def _check_token(self, identity: Identity, now: float) -> None:
        """Verifies the token again when it expires, and periodically, because its key may have been revoked."""
        if self.app_state.authorizer.callers != "tokens":
            return  # the surrounding program verifies the caller, if at all
        expires_at: float = identity.claims.get("exp", float("inf"))
        if self._authorization and (now - self._token_checked_at >= PING_SECONDS or time.time() >= expires_at):
            self._token_checked_at = now
            await self._verify_token(identity)

    async def _verify_token(self, identity: Identity) -> None:
        try:
            await self.app_state.authorizer.authenticate(self.websocket, self._authorization, self.audited(None))
        except UnauthenticatedError as error:
            if self.identity is not identity:
                return  # the client has sent another token in the meantime
            self._unset_identity()
            kind = "expired" if isinstance(error, ExpiredTokenError) else "invalid_token"
            await self.send_event("auth_error", error=str(error), error_type=kind)
