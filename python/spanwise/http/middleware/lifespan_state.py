"""Separates the lifespan state, which all requests share, from the state that middleware sets per request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.auth.request_state import IDENTITY_MEMBERS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class LifespanState:
    """Removes lifespan state that would pass for the identity of every caller.

    A server copies the lifespan state into the state of each request (ASGI, "Lifespan State"). Middleware adds verified
    values to the same state. A member that is still the object of the lifespan was not set for this request.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wraps `app`."""
        self._app = app
        self._shared: dict[str, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] == "lifespan":
            self._shared = scope.get("state", {})
        elif any(name in self._shared for name in IDENTITY_MEMBERS):
            scope = {**scope, "state": self._without_shared(scope.get("state", {}))}
        await self._app(scope, receive, send)

    def _without_shared(self, state: dict[str, Any]) -> dict[str, Any]:
        shared = {name for name in IDENTITY_MEMBERS if name in self._shared}
        return {name: value for name, value in state.items() if name not in shared or value is not self._shared[name]}
