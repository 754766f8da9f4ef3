"""Removes the slash that a surrounding program appends to paths: Litestar mounts `/health` as `/health/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SENT_SLASHES = (b"/", b"%2f")


class AppendedSlash:
    """Removes the last slash of a path if the client did not send it. Routes match exact paths only."""

    def __init__(self, app: ASGIApp) -> None:
        """Wraps `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "lifespan" and scope["path"].endswith("/") and _is_appended(scope):
            scope = {**scope, "path": scope["path"][:-1]}
        await self._app(scope, receive, send)


def _is_appended(scope: Scope) -> bool:
    is_root = scope["path"].removeprefix(scope.get("root_path", "")) == "/"
    sent: bytes = scope.get("raw_path") or b"/"
    return not is_root and not sent.lower().endswith(_SENT_SLASHES)
