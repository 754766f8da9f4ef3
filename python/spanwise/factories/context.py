"""What a factory learns of the request it builds a component for.

Source: specification, "RequestContext".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


def frozen(value: object) -> Any:  # noqa: ANN401  # whatever JSON can hold
    """Returns a copy of a JSON value that nothing can change, at any depth: objects as read-only mappings."""
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
    """What verified middleware says of the caller. Nothing that a client sends in a form gets here.

    Attributes:
        claims: what the token says, read-only at any depth.
        scopes: what the token allows.
    """

    claims: Mapping[str, Any] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Takes copies that nobody else holds."""
        object.__setattr__(self, "claims", frozen(self.claims))
        object.__setattr__(self, "scopes", frozenset(self.scopes))


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The sole argument of every factory.

    Attributes:
        user_id: who calls: verified, else what the form says, else None.
        session_id: the session that was asked for, likewise.
        input: an instance of the factory's schema; without one the parsed object, or None.
        trusted: what verified middleware says; for decisions about permission.
        request: the raw request, for what no other attribute carries.
    """

    user_id: str | None = None
    session_id: str | None = None
    input: Any = None
    trusted: TrustedContext = field(default_factory=TrustedContext)
    request: Any = None
