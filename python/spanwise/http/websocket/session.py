"""One WebSocket, from its opening to its end: what is read, what is sent, and how long it may last.

The server below answers and sends no ping frames of its own, so that a socket is alive is known from messages: one on
which nothing arrives for a minute, and which follows no run, is closed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.websockets import WebSocketDisconnect

from spanwise.auth.claims import ExpiredTokenError
from spanwise.errors import BadRequestError, UnauthenticatedError, UnavailableError, ValidationError
from spanwise.http.authorization import Asked
from spanwise.http.responses.errors import as_spanwise_error
from spanwise.http.websocket.actions import ACTIONS

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from spanwise.auth.identity import Identity
    from spanwise.http.backend import Backend
    from spanwise.runs import RunEvent

MOST_BYTES = 1024 * 1024
MOST_MESSAGES_A_SECOND = 100
MOST_ACTIONS = 32
"""Runs that one socket begins, continues or follows at once."""
MOST_FAILURES = 3
AUTHENTICATION_SECONDS = 10.0
PING_SECONDS = 20.0
SILENCE_SECONDS = 60.0
CLOSE_SECONDS = 2.0

GOING_AWAY, NO_TEXT, POLICY, TOO_LARGE, FAILED, LATER = 1001, 1003, 1008, 1009, 1011, 1013
"""Close codes (RFC 6455, 7.4)."""

_log = logging.getLogger(__name__)


class SocketSession:
    """One socket and its caller.

    Attributes:
        websocket: the socket.
        backend: the parts of the service.
        route: its path, as the table of routes has it.
        identity: the caller; None as long as nobody knows.
        user_id: the user that the socket counts for.
    """

    def __init__(self, websocket: WebSocket, route: str, backend: Backend) -> None:
        """Prepares to serve a socket that is not accepted yet."""
        self.websocket = websocket
        self.backend = backend
        self.route = route
        self.identity: Identity | None = None
        self.user_id: str | None = None
        self._authorization: list[str] = websocket.headers.getlist("authorization")
        self._failures = 0
        self._heard = self._unknown_since = self._checked = time.monotonic()
        self._second, self._messages = 0.0, 0
        self._acting: set[asyncio.Task[None]] = set()
        self._following: dict[str, asyncio.Task[None]] = {}
        self._sending = asyncio.Lock()
        self._end: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._is_draining = False

    def know(self, identity: Identity) -> None:
        """Takes note of who is calling; what another caller began to follow is followed no more.

        Raises:
            UnavailableError: that user has too many sockets.
        """
        self.backend.sockets.claim(identity.user_id, self.user_id)
        if self.identity is not None and identity.user_id != self.identity.user_id:
            self._follow_nothing()
        self.identity, self.user_id = identity, identity.user_id
        self._failures = 0

    async def serve(self) -> None:
        """Accepts the socket, and serves it until either side ends it."""
        await self.websocket.accept()
        needs_token = self.identity is None
        working = [asyncio.create_task(self._read(needs_token=needs_token)), asyncio.create_task(self._watch())]
        ending: list[asyncio.Future[Any]] = [*working, self._end]
        try:
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._follow_nothing()
            for task in working:
                task.cancel()
            ended = await asyncio.gather(*working, *self._acting, return_exceptions=True)
        self._say_why(ended)
        await self._close()

    def _say_why(self, ended: list[Any]) -> None:
        failures = [end for end in ended if isinstance(end, Exception) and not isinstance(end, WebSocketDisconnect)]
        for failure in failures:
            _log.error("socket %s failed", self.websocket.state.request_id, exc_info=failure)
        if failures:
            self.end(FAILED, "the service failed")

    async def _close(self) -> None:
        if self._end.done():
            code, reason = self._end.result()
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.websocket.close(code, reason)
            except (TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
                _log.debug("socket %s was gone before it was closed", self.websocket.state.request_id)

    def end(self, code: int, reason: str) -> None:
        """Ends the socket; the first word counts."""
        if not self._end.done():
            self._end.set_result((code, reason))

    def drain(self) -> None:
        """Ends the socket when the runs that it follows have ended."""
        self._is_draining = True
        if not self._acting:
            self.end(GOING_AWAY, "the service is shutting down")

    async def say(self, event: str, **members: object) -> None:
        """Sends one event that is no run's; members that are None are left out."""
        found = {name: value for name, value in members.items() if value is not None}
        await self._send(msgspec.json.encode({"event": event, **found}).decode())

    async def show(self, entry: RunEvent) -> None:
        """Sends one event of a run."""
        await self._send(entry.body.decode())

    async def _send(self, text: str) -> None:
        deadline = self.backend.answers.deadline_seconds
        try:
            async with self._sending, asyncio.timeout(deadline):
                await self.websocket.send_text(text)
        except (TimeoutError, RuntimeError, OSError) as error:
            self.end(POLICY, f"nothing was read for {deadline:g} s")
            raise WebSocketDisconnect(POLICY) from error

    async def _read(self, *, needs_token: bool) -> None:
        await self.say("connected", message="Connected to workflow events", requires_auth=needs_token)
        while True:
            message = await self.websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            self._heard = time.monotonic()
            text = message.get("text")
            if text is None:
                self.end(NO_TEXT, "expected text")
            elif self._is_too_fast():
                self.end(POLICY, f"more than {MOST_MESSAGES_A_SECOND} messages in a second")
            elif len(text.encode()) > MOST_BYTES:
                self.end(TOO_LARGE, f"expected a message of at most {MOST_BYTES} bytes")
            else:
                await self._answer(text)
            if self._end.done():
                return

    def _is_too_fast(self) -> bool:
        if self._heard - self._second >= 1:
            self._second, self._messages = self._heard, 0
        self._messages += 1
        return self._messages > MOST_MESSAGES_A_SECOND

    async def _answer(self, text: str) -> None:
        action: object = None
        try:
            message = _object(text)
            action = message.get("action")
            if action == "authenticate":
                await self._authenticate(message.get("token"))
            elif self.identity is None:
                await self.say("auth_required", error="Authentication required: send the action authenticate first")
            elif action == "ping":
                await self.say("pong")
            else:
                self._act(action, message)
        except (BadRequestError, ValidationError, UnavailableError) as error:
            await self.refuse(error, action=action if isinstance(action, str) else None)

    async def _authenticate(self, token: object) -> None:
        authorization = [f"Bearer {token}"] if isinstance(token, str) else []
        try:
            self.know(await self.backend.admission.identify(authorization, self.asked(None)))
        except UnauthenticatedError as error:
            self._failures += 1
            kind = "expired" if isinstance(error, ExpiredTokenError) else "invalid_token"
            await self.say("auth_error", error=str(error), error_type=kind)
            if self._failures >= MOST_FAILURES:
                self.end(POLICY, "authentication failed")
            return
        except UnavailableError as error:
            await self.say("auth_error", error=str(error), error_type="server_error")
            self.end(LATER, str(error))
            return
        self._authorization = authorization
        words = "Authentication successful. You can now send commands."
        await self.say("authenticated", message=words, user_id=self.user_id)

    def asked(self, resource: str | None) -> Asked:
        """Returns what is asked, as the audit log has it."""
        return Asked("WS", self.route, resource, self.websocket.state.request_id)

    def _act(self, action: object, message: dict[str, Any]) -> None:
        if not isinstance(action, str) or action not in ACTIONS:
            raise BadRequestError(f"Unknown action: {str(action)[:64]}")
        if self._is_draining:
            raise UnavailableError("the service is shutting down")
        if len(self._acting) >= MOST_ACTIONS:
            raise UnavailableError(f"more than {MOST_ACTIONS} runs at once in one socket")
        task = asyncio.create_task(self._acted(action, message))
        self._acting.add(task)
        task.add_done_callback(self._has_acted)

    def _has_acted(self, task: asyncio.Task[None]) -> None:
        self._acting.discard(task)
        self._heard = time.monotonic()  # silence begins when there is nothing more to listen to
        for run_id, following in list(self._following.items()):
            if following is task:
                del self._following[run_id]
        if self._is_draining and not self._acting:
            self.end(GOING_AWAY, "the service is shutting down")
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._say_why([error])

    async def _acted(self, action: str, message: dict[str, Any]) -> None:
        ids = {name: message.get(name) for name in ("workflow_id", "run_id")}
        known = {name: value for name, value in ids.items() if isinstance(value, str)}
        try:
            await ACTIONS[action](self, message)
        except WebSocketDisconnect:
            return
        except Exception as error:  # noqa: BLE001  # whatever escapes an action gets an answer
            await self.refuse(error, action=action, **known)

    async def refuse(self, error: Exception, **members: object) -> None:
        """Says that something was refused, or failed; never how."""
        refused = as_spanwise_error(self.websocket, error)
        self.backend.traffic.add_error(refused)
        await self.say("error", error=str(refused), error_code=refused.error_code, **members)

    def follows(self, run_id: str) -> None:
        """Takes note that the current action follows a run; an earlier one that did follows it no more."""
        task = asyncio.current_task()
        before = self._following.get(run_id)
        if before is not None and before is not task:
            before.cancel()
        if task is not None:
            self._following[run_id] = task

    def _follow_nothing(self) -> None:
        for task in self._acting:
            task.cancel()

    async def _watch(self) -> None:
        """Ends the socket when it is unknown, silent or without a good token for too long."""
        pinged = time.monotonic()
        while True:
            await asyncio.sleep(1)
            now = time.monotonic()
            if self.identity is None and now - self._unknown_since >= AUTHENTICATION_SECONDS:
                self.end(POLICY, f"no authentication within {AUTHENTICATION_SECONDS:g} s")
            elif not self._acting and now - self._heard >= SILENCE_SECONDS:
                self.end(GOING_AWAY, f"nothing was heard for {SILENCE_SECONDS:g} s")
            elif self.identity is not None:
                await self._check_token(self.identity, now)
            if now - pinged >= PING_SECONDS:
                pinged = now
                await self.say("ping")

    async def _check_token(self, identity: Identity, now: float) -> None:
        """Verifies the token again when it expires, and now and then: its key may not count any more."""
        expires_at: float = identity.claims.get("exp", float("inf"))
        if self._authorization and (now - self._checked >= PING_SECONDS or time.time() >= expires_at):
            self._checked = now
            await self._expect_good_token(identity)

    async def _expect_good_token(self, identity: Identity) -> None:
        try:
            await self.backend.admission.identify(self._authorization, self.asked(None))
        except UnauthenticatedError as error:
            if self.identity is not identity:
                return  # another token came meanwhile
            self._follow_nothing()
            self.identity, self._unknown_since = None, time.monotonic()
            kind = "expired" if isinstance(error, ExpiredTokenError) else "invalid_token"
            await self.say("auth_error", error=str(error), error_type=kind)


def _object(text: str) -> dict[str, Any]:
    """Returns the JSON object in a message.

    Raises:
        ValidationError: it is none.
    """
    try:
        return msgspec.json.decode(text.encode(), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ValidationError(f"a message must be a JSON object: {error}") from error
