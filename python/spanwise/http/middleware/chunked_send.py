"""Sends large response bodies in chunks, each after the client has read the previous one.

A server that receives a whole body keeps it until the client has read it. Here the body stays inside the response
budget, and the server holds at most one chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.http.responses.budget import ClientStalledError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spanwise.http.responses.budget import ResponseBudget


class ChunkedSend:
    """Sends responses through a `ResponseBudget`. Sending stops once a client has stalled."""

    def __init__(self, app: ASGIApp, budget: ResponseBudget, public_budget: ResponseBudget) -> None:
        """Wraps `app`; responses of public routes use `public_budget`."""
        self._app = app
        self._budget = budget
        self._public_budget = public_budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_read = True

        async def send_in_chunks(message: Message) -> None:
            nonlocal is_read
            if message["type"] != "http.response.body":
                await send(message)
            elif is_read:
                is_public = scope.get("state", {}).get("is_public", False)
                is_read = await (self._public_budget if is_public else self._budget).send(send, message)
            elif message.get("more_body"):
                raise ClientStalledError

        await self._app(scope, receive, send_in_chunks)
