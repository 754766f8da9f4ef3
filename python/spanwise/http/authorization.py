"""Who is calling, and may it? Every request passes here, known to the route table or not, before it is answered.

Source: design, section 9; RFC 6750.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from spanwise.auth.audit import AuditDecision, AuditEvent, AuditLog
from spanwise.auth.config import configured_sources, key_material, resolve_config
from spanwise.auth.identity import EVERYONE, Identity, bearer_token
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.rate_limit import RateLimiter
from spanwise.auth.tokens import TokenVerifier
from spanwise.errors import ForbiddenError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from spanwise.auth.config import AuthorizationConfig
    from spanwise.auth.scopes import Need
    from spanwise.http.routing.table import Row
    from spanwise.settings import Settings

_log = logging.getLogger(__name__)


class Asked(NamedTuple):
    """What is asked, as the audit log has it.

    Attributes:
        method: the HTTP method; `WS` for what is asked in a WebSocket.
        route: the path as the route table has it.
        resource: the id of what is asked for, if it is one thing.
        request_id: the id of the request.
    """

    method: str
    route: str
    resource: str | None
    request_id: str


class Admission(Protocol):
    """Decides about every request, and says on its state who is calling."""

    mode: Literal["jwt", "none"]

    async def admit(self, request: Request, row: Row | None) -> None:
        """Lets `request` pass.

        Args:
            request: what is asked.
            row: the row of the route table that would answer; None if it has none.

        Raises:
            UnauthenticatedError: nobody knows who is calling.
            ForbiddenError: the caller may not do this.
        """

    async def identify(self, authorization: Sequence[str], asked: Asked) -> Identity:
        """Returns who is calling.

        Args:
            authorization: the values of all `Authorization` headers, or what stands for them.
            asked: for the audit log.

        Raises:
            UnauthenticatedError: nobody knows.
        """

    def demand(self, identity: Identity, need: Need, asked: Asked) -> None:
        """Lets pass a caller that may do what it asks.

        Raises:
            ForbiddenError: it may not.
        """

    async def knows(self, request: Request) -> bool:
        """Returns whether a public page may tell its caller what is told to callers that we know."""

    @property
    def jwks_age_seconds(self) -> float | None:
        """Returns how long ago the JWKS was last fetched; None without an address."""

    def close(self) -> None:
        """Ends what runs in the background."""


class OpenAdmission:
    """Authorization is off: everybody may do everything, and nobody is verified."""

    mode: Literal["jwt", "none"] = "none"
    jwks_age_seconds: float | None = None

    def __init__(self, config: AuthorizationConfig, settings: Settings) -> None:
        """Warns of key material that is given and not used."""
        sources = configured_sources(config, settings)
        if sources:
            _log.warning("authorization is off, and keys are given by %s: nobody is verified", ", ".join(sources))

    async def admit(self, request: Request, row: Row | None) -> None:  # noqa: ARG002  # whatever it is
        """Lets everything pass."""
        _say_who(request, EVERYONE)

    async def identify(self, authorization: Sequence[str], asked: Asked) -> Identity:  # noqa: ARG002  # whoever it is
        """Returns everyone."""
        return EVERYONE

    def demand(self, identity: Identity, need: Need, asked: Asked) -> None:
        """Lets everything pass."""

    async def knows(self, request: Request) -> bool:  # noqa: ARG002  # whoever it is
        """Returns True: everything is told to everybody."""
        return True

    def close(self) -> None:
        """Ends nothing."""


class TokenAdmission:
    """Authorization is on: whoever asks for more than a public page needs a token that allows it."""

    mode: Literal["jwt", "none"] = "jwt"

    def __init__(self, config: AuthorizationConfig, settings: Settings) -> None:
        """Loads the keys.

        Raises:
            ConfigurationError: there is no key, or one is not usable.
        """
        self._config = resolve_config(config, settings)
        self._keys = KeyRing(key_material(config, settings))
        self._verifier = TokenVerifier(self._config, self._keys)
        self._audit = AuditLog()
        self._rejections = RateLimiter(settings.rejections_per_second)

    @property
    def jwks_age_seconds(self) -> float | None:
        """Returns how long ago the JWKS was last fetched; None without an address."""
        return self._keys.jwks_age_seconds

    def close(self) -> None:
        """Ends the fetching of keys, and writes what the audit log still has to say."""
        self._keys.close()
        self._audit.close()

    async def admit(self, request: Request, row: Row | None) -> None:
        """Lets `request` pass if its row is public, or its token allows what the row needs.

        A request that no row answers needs a token all the same: only callers we know learn what is not there.

        Raises:
            UnauthenticatedError: its token is missing, forged, expired or says too little.
            ForbiddenError: its token does not allow it.
        """
        if row is not None and row.is_public:
            return
        asked = Asked(
            request.method,
            row.path if row else request.url.path,
            next(iter(request.path_params.values()), None),
            request.state.request_id,
        )
        identity = await self.identify(request.headers.getlist("authorization"), asked)
        _say_who(request, identity)
        if row is not None:
            component_id = request.path_params.get("component_id")
            self._decide(identity, asked, lambda: _demand(identity, row, component_id))

    async def identify(self, authorization: Sequence[str], asked: Asked) -> Identity:
        """Returns who is calling. Who is refused waits for its turn.

        Raises:
            UnauthenticatedError: its token is missing, forged, expired or says too little.
        """
        try:
            token = await self._verifier.verify_or_fetch(bearer_token(authorization))
        except UnauthenticatedError as error:
            self._write(asked, None, error)
            if delay := self._rejections.delay():
                await asyncio.sleep(delay)
            raise
        return Identity.of(token, self._config)

    def demand(self, identity: Identity, need: Need, asked: Asked) -> None:
        """Lets pass a caller that may do what it asks of one thing.

        Raises:
            ForbiddenError: its token does not allow it.
        """
        self._decide(identity, asked, lambda: identity.authorize(need, asked.resource))

    def _decide(self, identity: Identity, asked: Asked, decide: Callable[[], None]) -> None:
        try:
            decide()
        except ForbiddenError as error:
            self._write(asked, identity, error)
            raise
        self._write(asked, identity, None)

    async def knows(self, request: Request) -> bool:
        """Returns whether the caller has a valid token, whatever it allows."""
        try:
            await self._verifier.verify_or_fetch(bearer_token(request.headers.getlist("authorization")))
        except UnauthenticatedError:
            return False
        return True

    def _write(self, asked: Asked, identity: Identity | None, error: Exception | None) -> None:
        verdict = (
            AuditDecision.ALLOWED
            if error is None
            else AuditDecision.FORBIDDEN
            if identity
            else AuditDecision.UNAUTHENTICATED
        )
        self._audit.write(
            AuditEvent(
                sub=identity.user_id if identity else None,
                method=asked.method,
                route=asked.route,
                resource=asked.resource,
                decision=verdict,
                reason=str(error) if error else None,
                request_id=asked.request_id,
            )
        )


def _demand(identity: Identity, row: Row, component_id: str | None) -> None:
    if row.lists and row.need is not None:
        identity.visible_ids(row.need)
    else:
        identity.authorize(row.need, component_id)


def _say_who(request: Request, identity: Identity) -> None:
    request.state.identity = identity
    request.state.user_id = identity.user_id
    request.state.session_id = identity.session_id
    request.state.claims = identity.claims
    request.state.scopes = identity.scopes


def admission(config: AuthorizationConfig, settings: Settings) -> Admission:
    """Returns what decides about requests.

    Raises:
        ConfigurationError: authorization is on, and there is no key, or one is not usable.
    """
    return (TokenAdmission if settings.authorization else OpenAdmission)(config, settings)
