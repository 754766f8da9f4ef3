"""Scopes: the permissions of callers, and the check that they cover a route.

A scope is `resource:action` (all resources), `resource:<id>:action` (one resource) or `resource:*:action`. Any other
text grants nothing. Actions are independent: `run` does not imply `read`. `system` is an alias of `config`. The admin
scope is handled in `identity`.

Source: `docs/reference/tokens.md#scopes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from spanwise.errors import ForbiddenError

ANY = "*"
_ALIASES = {"system": "config"}
_GLOBAL_PARTS = 2
_RESOURCE_PARTS = 3


class Grant(NamedTuple):
    """The permission of one scope.

    Attributes:
        resource: the type of resource, such as `agents`.
        id: the id of the resource, `*` for all of them; None if the scope has no id part.
        action: the action, such as `run`.
    """

    resource: str
    id: str | None
    action: str


@dataclass(frozen=True)
class Need:
    """The permission that a route requires, as in `Need.of("agents:run", "agents:read")`. One of its actions suffices.

    Attributes:
        resource: the type of resource.
        actions: the sufficient actions.
    """

    resource: str
    actions: tuple[str, ...]

    @classmethod
    def of(cls, *scopes: str) -> Need:
        """Returns the need for one of `scopes`. All have the form `resource:action` and the same resource."""
        grants = [grant for grant in map(parse_scope, scopes) if grant and grant.id is None]
        if not grants or len(grants) != len(scopes) or len({grant.resource for grant in grants}) != 1:
            raise ValueError(f"expected scopes `resource:action` of one resource, got {scopes}")
        return cls(grants[0].resource, tuple(grant.action for grant in grants))

    def __str__(self) -> str:
        """Returns the sufficient scopes."""
        return ", ".join(f"{self.resource}:{action}" for action in self.actions)


def parse_scope(scope: str) -> Grant | None:
    """Returns the permission of `scope`; None if it is malformed."""
    parts = scope.split(":")
    if not all(parts):
        return None
    resource = _ALIASES.get(parts[0], parts[0])
    match len(parts):
        case 2:
            return Grant(resource, None, parts[1])
        case 3:
            return Grant(resource, parts[1], parts[2])
        case _:
            return None


@lru_cache(maxsize=1024)
def grants_of(scopes: frozenset[str]) -> frozenset[Grant]:
    """Returns the permissions of `scopes`."""
    return frozenset(grant for grant in map(parse_scope, scopes) if grant)


def allows(scopes: frozenset[str], need: Need | None, resource_id: str | None = None) -> bool:
    """Returns whether `scopes` grant the permission for a route.

    Args:
        scopes: the scopes of the caller.
        need: the required permission; None if the route is not in the route table, and then refused.
        resource_id: the id of the requested resource; None if all resources are requested. A scope limited to one
            resource never grants all.
    """
    if need is None:
        return False
    grants = grants_of(scopes)
    ids = {None, ANY, resource_id}
    return any(Grant(need.resource, each, action) in grants for action in need.actions for each in ids)


def visible_ids(scopes: frozenset[str], need: Need) -> frozenset[str] | None:
    """Returns the ids that a list may show: None for all, an empty set if the request must be rejected."""
    if allows(scopes, need):
        return None
    return frozenset(
        grant.id
        for grant in grants_of(scopes)
        if grant.id is not None and grant.resource == need.resource and grant.action in need.actions
    )


def forbidden(scopes: frozenset[str], need: Need | None, resource_id: str | None = None) -> ForbiddenError:
    """Returns the error for a caller without the permission for a route.

    The message differs for callers that have the permission for another resource of the same type.
    """
    if need is None:
        return ForbiddenError("Insufficient permissions. No scope allows this route")
    if resource_id is not None and visible_ids(scopes, need):
        action = "run" if "run" in need.actions else need.actions[0]
        return ForbiddenError(f"Access denied to {action} this {need.resource.removesuffix('s')}")
    return ForbiddenError(f"Insufficient permissions. Required scope(s): {need}")
