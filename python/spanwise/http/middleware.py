"""What happens around every request: its id, and its place in no cache."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUEST_ID = "X-Request-ID"
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class RequestId:
    """Gives every request an id, the caller's own if it is a plain one, and every answer that id.

    Answers hold what people said to agents, so none may stay in a cache.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wraps `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _ACCEPTED_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                headers["Cache-Control"] = "no-store"
            await send(message)

        await self._app(scope, receive, send_with_id)
