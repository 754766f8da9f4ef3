"""Rejects cross-site requests when authorization is off.

Any page can make a browser send a form to any host without a preflight. It can also point a hostname of its own at this
machine (DNS rebinding). Without tokens, either would be enough to start runs and read traces.

A request must therefore name a host of this machine or one of `allowed_hosts`, and must not come from a page of another
site. Programs send neither `Origin` nor `Sec-Fetch-Site`, so they are not affected. Neither are callers that the
surrounding program has verified.

A link on another site may open the user interface. Its files are the same for everyone, and the linking page cannot
read them. See `docs/reference/tokens.md#authorization-off`.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from spanwise.auth.request_state import IDENTITY_MEMBERS
from spanwise.errors import ConfigurationError, ForbiddenError
from spanwise.http.middleware.cors import ANY
from spanwise.http.responses.errors import json_error_response
from spanwise.http.websocket.denial import deny

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HEALTH = "/health"
"""Probes address this path by any name or address of the host."""
_LOOPBACK_NAME = "localhost"
_OTHER_SITE = "cross-site"
_SAFE_METHODS = {"GET", "HEAD"}
MAX_HOST_CHARACTERS = 512
"""Longer hosts and origins are not parsed; a hostname has at most 253 characters. The parser caches its input."""


def parse_hosts(text: str) -> frozenset[str]:
    """Returns the hosts in a comma-separated setting, in lower case.

    Raises:
        ConfigurationError: an entry is not a hostname such as `spanwise.example.org`.
    """
    hosts = {part.strip().lower() for part in text.split(",")} - {""}
    for host in hosts - {ANY}:
        if host_of(host) != host.strip("[]"):
            raise ConfigurationError(
                f"setting `allowed_hosts`: expected a host name without a port or `*`, got `{host}`"
            )
    return frozenset(host.strip("[]") for host in hosts)


def host_of(header: str) -> str | None:
    """Returns the host in a `Host` header, in lower case and without its port; None if the header has no host."""
    if len(header) > MAX_HOST_CHARACTERS:
        return None
    try:
        parts = urlsplit(f"//{header}")
        host = parts.hostname
    except ValueError:
        return None
    return host if parts.netloc == header and parts.username is None else None


def is_origin_of(origin: str, host: str) -> bool:
    """Returns whether an `Origin` header names the same host as the `Host` header."""
    if len(origin) > MAX_HOST_CHARACTERS:
        return False
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


class SameSite:
    """Rejects requests that name a host outside the allowed ones, and requests from pages of other sites."""

    def __init__(
        self, app: ASGIApp, hosts: frozenset[str], origins: frozenset[str], linked_paths: frozenset[str]
    ) -> None:
        """Wraps `app`.

        Args:
            app: the application.
            hosts: the hosts that requests may name, in addition to the loopback hosts.
            origins: the origins whose pages may send requests, in addition to the service's own.
            linked_paths: the paths that links on other sites may open.
        """
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._linked_paths = linked_paths
        # Nearly all requests name the same host. Parsing a host costs as much as the rest of this check.
        self._last_allowed: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] in {"http", "websocket"} and not _is_exempt(scope):
            try:
                self._check(scope)
            except ForbiddenError as error:
                await self._reject(error, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host != self._last_allowed:
            if not self._is_allowed(host_of(host)):
                raise ForbiddenError(f"the host `{host:.256}` is not one of `allowed_hosts`, and authorization is off")
            self._last_allowed = host
        origin = headers.get("origin")
        if origin is None:
            is_foreign = headers.get("sec-fetch-site") == _OTHER_SITE and not self._is_link(scope, headers)
        else:
            is_foreign = not (is_origin_of(origin, host) or origin.lower() in self._origins or ANY in self._origins)
        if is_foreign:
            raise ForbiddenError("pages of other sites may not send requests here: `cors_origins` names those that may")

    def _is_link(self, scope: Scope, headers: Headers) -> bool:
        """Returns True if a request is a browser navigation that opens a page in a window or tab."""
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return is_navigation and scope.get("method") in _SAFE_METHODS and _path(scope) in self._linked_paths

    def _is_allowed(self, host: str | None) -> bool:
        if host is None:
            return False
        return host == _LOOPBACK_NAME or host in self._hosts or ANY in self._hosts or _is_loopback(host)

    @staticmethod
    async def _reject(error: ForbiddenError, scope: Scope, receive: Receive, send: Send) -> None:
        response = json_error_response(HTTPConnection(scope), error)
        if scope["type"] == "websocket":
            await deny(WebSocket(scope, receive, send), response)
        else:
            await response(scope, receive, send)


def _is_exempt(scope: Scope) -> bool:
    """Returns True if a request is a probe, or if the surrounding program verified its caller."""
    state = scope.get("state", {})
    is_verified = any(state.get(name) for name in IDENTITY_MEMBERS)
    return is_verified or _path(scope) == HEALTH


def _path(scope: Scope) -> str:
    """Returns the path without the prefix at which the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
