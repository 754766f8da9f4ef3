"""The request as a factory sees it.

See docs/reference/api-runs.md#request-context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spanwise.auth.identity import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class TrustedContext:
    """What was verified about the caller, here or by the surrounding program. Nothing in it comes from a form field.

    Attributes:
        claims: the claims of the token, deeply immutable.
        scopes: the scopes of the token.
    """

    claims: Mapping[str, Any] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Copies both, so that nobody else can change them."""
        object.__setattr__(self, "claims", frozen(self.claims))
        object.__setattr__(self, "scopes", frozenset(self.scopes))


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The only argument of a factory.

    Attributes:
        user_id: the caller: verified if possible, else as the form says, else None.
        session_id: the session, likewise.
        input: an instance of the factory's schema; without a schema, the parsed object, or None.
        trusted: what authorization verified; use it for decisions about permissions.
        request: the request itself, for what no other attribute carries.
    """

    user_id: str | None = None
    session_id: str | None = None
    input: Any = None
    trusted: TrustedContext = field(default_factory=TrustedContext)
    request: Any = None
