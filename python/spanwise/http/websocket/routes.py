"""The WebSockets of workflows: who may open one, how many there are, and how they end with the service.

Source: design, section 10; RFC 6455; the ASGI extension "WebSocket Denial Response".
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.routing import WebSocketRoute

from spanwise.errors import ForbiddenError, UnavailableError
from spanwise.http.authorization import Asked
from spanwise.http.middleware.cors import ANY
from spanwise.http.responses.errors import as_spanwise_error, json_refusal
from spanwise.http.websocket.session import CLOSE_SECONDS, GOING_AWAY, SocketSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.websockets import WebSocket

    from spanwise.auth.identity import Identity
    from spanwise.http.backend import Backend

PATHS = ("/workflows/ws", "/workflows/{component_id}/ws")
DRAIN_SECONDS = 3.0
"""How long a socket may follow its runs when the service ends."""
METHOD = "WS"
"""What stands for a method where sockets are counted and audited."""


class Sockets:
    """Counts the sockets that are open, all of them and each user's, so that they stay bounded.

    Attributes:
        open: how many there are.
    """

    def __init__(self, most: int, most_of_a_user: int) -> None:
        """Begins with none.

        Args:
            most: how many may be open.
            most_of_a_user: how many of them may be one user's.
        """
        self._most = most
        self._most_of_a_user = most_of_a_user
        self._of_user: Counter[str] = Counter()
        self._sessions: set[SocketSession] = set()
        self._is_draining = False
        self._left = asyncio.Event()

    @property
    def open(self) -> int:
        """Returns how many sockets are open."""
        return len(self._sessions)

    def enter(self, session: SocketSession) -> None:
        """Counts one more socket.

        Raises:
            UnavailableError: there are too many, or the service is shutting down.
        """
        if self._is_draining:
            raise UnavailableError("the service is shutting down")
        if self.open >= self._most:
            raise UnavailableError(f"more than {self._most} sockets at once")
        self._sessions.add(session)

    def claim(self, user_id: str | None, before: str | None) -> None:
        """Counts a socket as one user's.

        Args:
            user_id: whose it is; None for nobody's that we know.
            before: whose it was.

        Raises:
            UnavailableError: that user has too many.
        """
        if user_id == before:
            return
        if user_id is not None and self._of_user[user_id] >= self._most_of_a_user:
            raise UnavailableError(f"more than {self._most_of_a_user} sockets of one user at once")
        if user_id is not None:
            self._of_user[user_id] += 1
        self._forget(before)

    def leave(self, session: SocketSession) -> None:
        """Counts one socket less."""
        self._sessions.discard(session)
        self._left.set()
        self._forget(session.user_id)

    def _forget(self, user_id: str | None) -> None:
        if user_id is not None:
            self._of_user[user_id] -= 1
            self._of_user += Counter()  # drops those that have none

    async def drain(self) -> None:
        """Lets no socket in any more, and ends each when the runs that it follows have ended, or after a while."""
        self._is_draining = True
        for session in list(self._sessions):
            session.drain()
        await self._empty(DRAIN_SECONDS)
        for session in list(self._sessions):
            session.end(GOING_AWAY, "the service is shutting down")
        await self._empty(CLOSE_SECONDS)

    async def _empty(self, seconds: float) -> None:
        """Returns when no socket is open, or after a time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._sessions:
                    self._left.clear()
                    await self._left.wait()


def socket_routes(backend: Backend) -> list[WebSocketRoute]:
    """Returns the routes of sockets. They stand in no OpenAPI document, which has no word for them."""
    return [WebSocketRoute(path, _endpoint(path, backend)) for path in PATHS]


def _endpoint(path: str, backend: Backend) -> Callable[[WebSocket], Awaitable[None]]:
    async def answer(websocket: WebSocket) -> None:
        session = SocketSession(websocket, path, backend)
        try:
            backend.sockets.enter(session)
            _expect_own_origin(websocket, backend)
            identity = await _caller(websocket, path, backend)
            if identity is not None:
                session.know(identity)
        except Exception as error:  # noqa: BLE001  # whatever escapes gets an answer
            backend.sockets.leave(session)
            refused = as_spanwise_error(websocket, error)
            backend.traffic.add_error(refused)
            backend.traffic.add((METHOD, path), refused.status, 0.0)
            await websocket.send_denial_response(json_refusal(websocket, refused))
            return
        backend.traffic.add((METHOD, path), 101, 0.0)
        try:
            await session.serve()
        finally:
            backend.sockets.leave(session)

    return answer


async def _caller(websocket: WebSocket, path: str, backend: Backend) -> Identity | None:
    """Returns who opens a socket; None if nothing says so yet.

    Raises:
        UnauthenticatedError: the token in its header is not good.
    """
    authorization = websocket.headers.getlist("authorization")
    if backend.admission.mode != "none" and not authorization:
        return None
    asked = Asked(METHOD, path, websocket.path_params.get("component_id"), websocket.state.request_id)
    return await backend.admission.identify(authorization, asked)


def _expect_own_origin(websocket: WebSocket, backend: Backend) -> None:
    """Refuses the page of another origin: browsers let any page open a socket to anywhere.

    Raises:
        ForbiddenError: the page is neither ours nor one whose origin the operator names.
    """
    origin = websocket.headers.get("origin")
    if origin is None or ANY in backend.origins or origin.lower() in backend.origins:
        return
    if urlsplit(origin).netloc.lower() != websocket.headers.get("host", "").lower():
        raise ForbiddenError("pages of this origin may not open a socket here")
