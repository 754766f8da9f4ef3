"""What a caller may do: what routes need, as data, and whether scopes grant it.

A scope is `resource:action` (everywhere), `resource:<id>:action` (one of them) or `resource:*:action`. Anything
else grants nothing. Actions are independent: `run` does not imply `read`. `system` is another word for `config`.
The admin scope is not read here: who holds it is an admin (see `identity`) and needs no other.

Source: design, section 9.
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
    """What one scope grants.

    Attributes:
        resource: the kind of thing, such as `agents`.
        id: the one it is limited to, `*` for all of them; None if the scope has no place for one.
        action: what may be done, such as `run`.
    """

    resource: str
    id: str | None
    action: str


@dataclass(frozen=True)
class Need:
    """What a route needs: one of these actions on a resource. Written as `Need.of("agents:run", "agents:read")`.

    Attributes:
        resource: the kind of thing.
        actions: what may be done with it; one of them is enough.
    """

    resource: str
    actions: tuple[str, ...]

    @classmethod
    def of(cls, *scopes: str) -> Need:
        """Returns the need for one of `scopes`, all of one resource and of the form `resource:action`."""
        grants = [grant for grant in map(parse_scope, scopes) if grant and grant.id is None]
        if not grants or len(grants) != len(scopes) or len({grant.resource for grant in grants}) != 1:
            raise ValueError(f"expected `resource:action`, of one resource, got {scopes}")
        return cls(grants[0].resource, tuple(grant.action for grant in grants))

    def __str__(self) -> str:
        """Returns the scopes, one of which is enough."""
        return ", ".join(f"{self.resource}:{action}" for action in self.actions)


def parse_scope(scope: str) -> Grant | None:
    """Returns what `scope` grants; None if it is not of the grammar."""
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
    """Returns what `scopes` grant."""
    return frozenset(grant for grant in map(parse_scope, scopes) if grant)


def allows(scopes: frozenset[str], need: Need | None, resource_id: str | None = None) -> bool:
    """Returns whether `scopes` grant what a route needs.

    Args:
        scopes: the scopes of the caller.
        need: what the route needs. None is a route without a row in the table: nobody may use it.
        resource_id: the one thing it is asked of; None if it is asked of all of them. A scope that is limited to
            one thing never grants what is asked of all.
    """
    if need is None:
        return False
    grants = grants_of(scopes)
    ids = {None, ANY, resource_id}
    return any(Grant(need.resource, each, action) in grants for action in need.actions for each in ids)


def visible_ids(scopes: frozenset[str], need: Need) -> frozenset[str] | None:
    """Returns the ids that a listing may show: None for all of them, an empty set if it must be refused."""
    if allows(scopes, need):
        return None
    return frozenset(
        grant.id
        for grant in grants_of(scopes)
        if grant.id is not None and grant.resource == need.resource and grant.action in need.actions
    )


def refusal(scopes: frozenset[str], need: Need | None, resource_id: str | None = None) -> ForbiddenError:
    """Returns the error for a caller whose scopes do not grant what a route needs.

    Who may do it to some other thing of the kind is told that it may not do it to this one.
    """
    if need is None:
        return ForbiddenError("Insufficient permissions. This route is open to nobody")
    if resource_id is not None and visible_ids(scopes, need):
        action = "run" if "run" in need.actions else need.actions[0]
        return ForbiddenError(f"Access denied to {action} this {need.resource.removesuffix('s')}")
    return ForbiddenError(f"Insufficient permissions. Required scope(s): {need}")
