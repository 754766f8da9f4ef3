"""The request as a factory sees it.

See docs/reference/api.md#request-context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


def frozen(value: object) -> Any:  # noqa: ANN401  # whatever JSON can hold
    """Returns a deeply immutable copy of a JSON value: objects become read-only mappings, arrays become tuples."""
    match value:
        case Mapping():
            return MappingProxyType({name: frozen(member) for name, member in value.items()})
        case list() | tuple():
            return tuple(frozen(member) for member in value)
        case set() | frozenset():
            return frozenset(value)
        case _:
            return value


@dataclass(frozen=True, slots=True)
class TrustedContext:
    """What authorization verified about the caller. Nothing in it comes from a form field.

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
