"""The request that a factory receives.

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
    """The verified facts about the caller, from a token or from the surrounding program. Form fields have no influence.

    Attributes:
        claims: the claims of the token, deeply immutable.
        scopes: the scopes of the token.
    """

    claims: Mapping[str, Any] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Copies both, so that later changes to the arguments have no effect."""
        object.__setattr__(self, "claims", frozen(self.claims))
        object.__setattr__(self, "scopes", frozenset(self.scopes))


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The only argument of a factory.

    Attributes:
        user_id: the caller; verified if possible, otherwise from the form, otherwise None.
        session_id: the session, from the same sources.
        input: an instance of the factory's schema; without a schema, the parsed object or None.
        trusted: the verified facts about the caller; use them for decisions about permissions.
        request: the request itself, for anything that is not in the other attributes.
    """

    user_id: str | None = None
    session_id: str | None = None
    input: Any = None
    trusted: TrustedContext = field(default_factory=TrustedContext)
    request: Any = None
