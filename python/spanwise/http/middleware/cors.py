"""Lets pages of the configured origins read responses. By default, no other origin may.

Implements the CORS protocol of the Fetch Standard. The service reads no cookies, so credentials are not allowed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ANY = "*"
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")
_METHODS = "GET, POST, PATCH, DELETE"
_HEADERS = "Authorization, Content-Type, Content-Encoding, Last-Event-ID, X-Request-ID, traceparent, tracestate"
_EXPOSED_HEADERS = "X-Request-ID, Retry-After, WWW-Authenticate, Spanwise-As-Of"
_MAX_AGE_SECONDS = "600"


def parse_origins(text: str) -> frozenset[str]:
    """Returns the origins in a comma-separated setting, in lower case.

    Raises:
        ConfigurationError: an entry is not an origin such as `https://example.org`.
    """
    origins = {part.strip().lower() for part in text.split(",")} - {""}
    for origin in origins - {ANY}:
        if not _ORIGIN.fullmatch(origin):
            raise ConfigurationError(f"setting `cors_origins`: expected `https://host` or `*`, got `{origin}`")
    return frozenset(origins)


class Cors:
    """Adds CORS headers to responses and responds to preflight requests."""

    def __init__(self, app: ASGIApp, origins: frozenset[str]) -> None:
        """Wraps `app`; pages of `origins` may read its responses."""
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        requested = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = requested.get("origin", "")
        is_allowed = bool(origin) and (origin.lower() in self._origins or ANY in self._origins)

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Origin")
                if is_allowed:
                    headers["Access-Control-Allow-Origin"] = origin
                    headers["Access-Control-Expose-Headers"] = _EXPOSED_HEADERS
            await send(message)

        if is_allowed and scope["method"] == "OPTIONS" and "access-control-request-method" in requested:
            allowed = {
                "Access-Control-Allow-Methods": _METHODS,
                "Access-Control-Allow-Headers": _HEADERS,
                "Access-Control-Max-Age": _MAX_AGE_SECONDS,
            }
            await Response(status_code=204, headers=allowed)(scope, receive, send_allowed)
        else:
            await self._app(scope, receive, send_allowed if scope["type"] == "http" else send)
