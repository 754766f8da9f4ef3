"""Authenticates callers and authorizes their requests before a handler runs or a body is read.

Requests that match no route are authenticated too. See `docs/reference/tokens.md` and RFC 6750.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spanwise.auth.audit import AuditDecision, AuditEvent, AuditLog
from spanwise.auth.config import configured_sources, key_material, resolve_config
from spanwise.auth.identity import Identity, bearer_of_basic, bearer_token
from spanwise.auth.request_state import identity_from_state
from spanwise.auth.tokens import TokenVerifier
from spanwise.errors import ForbiddenError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import HTTPConnection, Request

    from spanwise.auth.config import AuthorizationConfig
    from spanwise.auth.scopes import Need
    from spanwise.settings import Callers, Settings

MAX_AUDITED_CHARACTERS = 256
"""The audit log records this many characters of a path that matches no route."""

_log = logging.getLogger(__name__)


class AuditedRequest(NamedTuple):
    """A request as the audit log describes it.

    Attributes:
        method: the HTTP method; `WS` for messages of a WebSocket.
        route: the path of the route, with its parameters in braces.
        resource: the id of the requested resource; None if the request does not address a single resource.
        request_id: the id of the request.
    """

    method: str
    route: str
    resource: str | None
    request_id: str


class ProtectedRoute(Protocol):
    """The part of a route that authorization reads."""

    @property
    def path(self) -> str:
        """The path of the route, with parameters in braces."""

    @property
    def need(self) -> Need | None:
        """The scopes that the route requires."""

    @property
    def is_public(self) -> bool:
        """True if the route is open to everyone."""

    @property
    def is_filtered_by_scope(self) -> bool:
        """True if the route lists resources and omits those outside the caller's scopes."""

    @property
    def accepts_basic(self) -> bool:
        """True if the token may also be sent as the password of Basic authentication."""


class Authorizer(Protocol):
    """Authenticates and authorizes requests, and stores the caller's identity on their state.

    Attributes:
        callers: which callers may use routes that are not public. It is fixed when the service starts.
    """

    callers: Callers

    async def authorize(self, request: Request, route: ProtectedRoute | None) -> None:
        """Authorizes `request` and stores the caller's identity on its state.

        Args:
            request: the request.
            route: the route that it matches; None if it matches none.

        Raises:
            UnauthenticatedError: the caller is not authenticated.
            ForbiddenError: the caller may not use this route.
        """

    async def authenticate(
        self, connection: HTTPConnection, authorization: Sequence[str], audited: AuditedRequest
    ) -> Identity:
        """Returns the caller's identity.

        Args:
            connection: the request or WebSocket.
            authorization: the values of all `Authorization` headers. A WebSocket passes the token of its message
                instead.
            audited: the request as the audit log describes it.

        Raises:
            UnauthenticatedError: the caller is not authenticated.
        """

    def knows(self, authorization: Sequence[str]) -> bool:
        """Returns True if the caller needs no verification, or if the same token was verified before.

        Args:
            authorization: the values of all `Authorization` headers. A WebSocket passes the token of its message
                instead.
        """

    def require(self, identity: Identity, need: Need, audited: AuditedRequest) -> None:
        """Checks that a caller has the scopes that the resource of `audited` requires.

        Raises:
            ForbiddenError: a scope is missing.
        """

    async def is_authenticated(self, request: Request) -> bool:
        """Returns True if the caller of a public page may see the content reserved for authenticated callers."""

    @property
    def jwks_age_seconds(self) -> float | None:
        """Returns the seconds since the JWKS was last fetched; None if it is not fetched from a URL."""

    def close(self) -> None:
        """Stops background work."""


class StateAuthorizer:
    """Reads the caller from the request state, where middleware of the surrounding program stores it.

    Scopes are not checked: the surrounding program decides which routes a caller may use. A request without a caller is
    allowed if callers are `open`, and rejected if they are `verified`.
    """

    jwks_age_seconds: float | None = None

    def __init__(self, config: AuthorizationConfig, settings: Settings, callers: Callers) -> None:
        """Warns about key material that is configured but unused.

        Raises:
            ConfigurationError: a value is invalid.
        """
        self.callers = callers
        self._config = resolve_config(config, settings)
        sources = configured_sources(config, settings)
        if sources:
            _log.warning("authorization is off although %s sets keys: tokens are not verified", ", ".join(sources))

    async def authorize(self, request: Request, route: ProtectedRoute | None) -> None:
        """Stores the caller's identity on the state of the request, unless its route is public.

        Raises:
            UnauthenticatedError: callers are `verified`, and the state has no user id.
            ConfigurationError: a member of the state has the wrong type.
        """
        if route is None or not route.is_public:
            _set_identity(request, self._identity_of(request))

    async def authenticate(
        self,
        connection: HTTPConnection,
        authorization: Sequence[str],  # noqa: ARG002  # required by the protocol
        audited: AuditedRequest,  # noqa: ARG002  # required by the protocol
    ) -> Identity:
        """Returns the caller described by the state of the connection.

        Raises:
            UnauthenticatedError: callers are `verified`, and the state has no user id.
            ConfigurationError: a member of the state has the wrong type.
        """
        return self._identity_of(connection)

    def _identity_of(self, connection: HTTPConnection) -> Identity:
        """Returns the caller. This is the only place that decides whether a caller without a user id sees everything.

        Raises:
            UnauthenticatedError: callers are `verified`, and the state has no user id.
            ConfigurationError: a member of the state has the wrong type.
        """
        found = identity_from_state(connection.scope.get("state", {}), self._config)
        if found.user_id is None and self.callers != "open":
            raise UnauthenticatedError(
                "Not authenticated: the program that hosts this service set no `user_id` on the state of the request"
            )
        return found

    def knows(self, authorization: Sequence[str]) -> bool:  # noqa: ARG002  # likewise
        """Returns True because this authorizer verifies no tokens."""
        return True

    def require(self, identity: Identity, need: Need, audited: AuditedRequest) -> None:
        """Allows everything."""

    async def is_authenticated(self, request: Request) -> bool:
        """Returns True if the request state has a user id, or if callers are `open`.

        Raises:
            ConfigurationError: a member of the state has the wrong type.
        """
        try:
            self._identity_of(request)
        except UnauthenticatedError:
            return False
        return True

    def close(self) -> None:
        """Does nothing."""


class TokenAuthorizer:
    """Requires a token with sufficient scopes for every route that is not public."""

    callers: Callers = "tokens"

    def __init__(self, config: AuthorizationConfig, settings: Settings) -> None:
        """Loads the keys.

        Raises:
            ConfigurationError: no key is configured, or a key is unusable.
        """
        self._config = resolve_config(config, settings)
        from spanwise.auth.key_ring import KeyRing  # noqa: PLC0415  # loads cryptography, which only tokens need

        self._keys = KeyRing(key_material(config, settings))
        self._verifier = TokenVerifier(self._config, self._keys)
        self._audit = AuditLog()

    @property
    def jwks_age_seconds(self) -> float | None:
        """Returns the seconds since the JWKS was last fetched; None if it is not fetched from a URL."""
        return self._keys.jwks_age_seconds

    def close(self) -> None:
        """Stops fetching keys and flushes the audit log."""
        self._keys.close()
        self._audit.close()

    async def authorize(self, request: Request, route: ProtectedRoute | None) -> None:
        """Authorizes `request` and stores the caller's identity on its state.

        A request that matches no route needs a token too: only authenticated callers learn which paths exist.

        Raises:
            UnauthenticatedError: the token is missing, forged or expired, or lacks a required claim.
            ForbiddenError: the token lacks a scope that the route requires.
        """
        if route is not None and route.is_public:
            return
        audited = AuditedRequest(
            request.method,
            route.path if route else request.scope["path"][:MAX_AUDITED_CHARACTERS],
            next(iter(request.path_params.values()), None),
            request.state.request_id,
        )
        authorization = request.headers.getlist("authorization")
        if route is not None and route.accepts_basic:
            authorization = list(map(bearer_of_basic, authorization))
        identity = await self.authenticate(request, authorization, audited)
        _set_identity(request, identity)
        if route is not None:
            component_id = request.path_params.get("component_id")
            self._decide(identity, audited, lambda: _require_scopes(identity, route, component_id))

    async def authenticate(
        self,
        connection: HTTPConnection,
        authorization: Sequence[str],
        audited: AuditedRequest,
    ) -> Identity:
        """Returns the caller's identity, and marks the caller as known on the state of the connection.

        Raises:
            UnauthenticatedError: the token is missing, forged or expired, or lacks a required claim.
        """
        try:
            token = await self._verifier.verify_or_fetch(bearer_token(authorization))
        except UnauthenticatedError as error:
            self._write(audited, None, error)
            raise
        connection.state.is_known = True
        return Identity.of(token, self._config)

    def knows(self, authorization: Sequence[str]) -> bool:
        """Returns True if the token was verified before. The token is not parsed."""
        try:
            return self._verifier.knows(bearer_token(list(map(bearer_of_basic, authorization))))
        except UnauthenticatedError:
            return False

    def require(self, identity: Identity, need: Need, audited: AuditedRequest) -> None:
        """Checks that a caller has the scopes that the resource of `audited` requires.

        Raises:
            ForbiddenError: the token lacks a scope.
        """
        self._decide(identity, audited, lambda: identity.authorize(need, audited.resource))

    def _decide(self, identity: Identity, audited: AuditedRequest, check: Callable[[], None]) -> None:
        try:
            check()
        except ForbiddenError as error:
            self._write(audited, identity, error)
            raise
        self._write(audited, identity, None)

    async def is_authenticated(self, request: Request) -> bool:
        """Returns True if the caller has a valid token. Scopes are not checked."""
        try:
            await self._verifier.verify_or_fetch(bearer_token(request.headers.getlist("authorization")))
        except UnauthenticatedError:
            return False
        return True

    def _write(self, audited: AuditedRequest, identity: Identity | None, error: Exception | None) -> None:
        denied = AuditDecision.FORBIDDEN if identity else AuditDecision.UNAUTHENTICATED
        self._audit.write(
            AuditEvent(
                sub=identity.user_id if identity else None,
                method=audited.method,
                route=audited.route,
                resource=audited.resource,
                decision=denied if error else AuditDecision.ALLOWED,
                reason=str(error) if error else None,
                request_id=audited.request_id,
            )
        )


def _require_scopes(identity: Identity, route: ProtectedRoute, component_id: str | None) -> None:
    if route.is_filtered_by_scope and route.need is not None:
        identity.visible_ids(route.need)
    else:
        identity.authorize(route.need, component_id)


def _set_identity(request: Request, identity: Identity) -> None:
    request.state.identity = identity
    request.state.user_id = identity.user_id
    request.state.session_id = identity.session_id
    request.state.claims = identity.claims
    request.state.scopes = identity.scopes


def create_authorizer(config: AuthorizationConfig, settings: Settings) -> Authorizer:
    """Returns the authorizer that the settings select.

    Raises:
        ConfigurationError: authorization is on, and no key is configured or a key is unusable.
    """
    callers = settings.callers_or()
    return TokenAuthorizer(config, settings) if callers == "tokens" else StateAuthorizer(config, settings, callers)
