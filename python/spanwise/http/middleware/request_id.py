"""Gives every request an id, and every response the common headers."""

from __future__ import annotations

import logging
import re
import time
from contextvars import ContextVar
from secrets import token_hex
from types import MappingProxyType
from typing import TYPE_CHECKING

from spanwise.masking import masked_request_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_REQUEST_ID = b"x-request-id"
_CACHE_CONTROL = b"cache-control"
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_ACCEPTED_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_log = logging.getLogger(__name__)

current_request: ContextVar[Mapping[str, str]] = ContextVar("current_request", default=MappingProxyType({}))
"""The members that every log line has about the current request."""


def trace_id_of(traceparent: str) -> str | None:
    """Returns the trace id of a `traceparent` header (W3C Trace Context); None if the header is malformed."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return found[1] if found else None


class RequestId:
    """Gives every request an id, and returns it with the response. A well-formed id of the client is kept.

    Responses contain conversations with agents. No cache may store them unless the response allows it, and browsers
    must not guess their media type.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wraps `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(_REQUEST_ID, b""))
        scope.setdefault("state", {})["request_id"] = request_id
        trace_id = trace_id_of(headers.get(b"traceparent", b"").decode("latin-1"))
        current_request.set({"request_id": request_id, **({"trace_id": trace_id} if trace_id else {})})
        started = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                sent = message.get("headers", ())
                added = () if any(name == _CACHE_CONTROL for name, _ in sent) else ((_CACHE_CONTROL, b"no-store"),)
                message["headers"] = [*sent, (_REQUEST_ID, request_id.encode()), _NOSNIFF, *added]
                milliseconds = (time.perf_counter() - started) * 1000
                if _log.isEnabledFor(logging.DEBUG):
                    path, method = masked_request_text(scope["path"]), scope.get("method", "WS")
                    _log.debug("%s %s: %d, %.1f ms", method, path, message["status"], milliseconds)
            await send(message)

        await self._app(scope, receive, send_with_id)


def _request_id(given: bytes) -> str:
    is_accepted = _ACCEPTED_ID.fullmatch(given) and masked_request_text(given.decode()) == given.decode()
    return given.decode() if is_accepted else token_hex(16)
