"""The representation of hosted components and factories in responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.factories import Factory

if TYPE_CHECKING:
    from spanwise.registry import Entry


def describe_component(entry: Entry) -> dict[str, Any]:
    """Returns the members that describe a component or factory. Missing members are omitted."""
    found = {
        "id": entry.id,
        "name": entry.name or entry.id,
        "description": entry.description,
        "db_id": getattr(entry.db, "id", None),
        "is_factory": isinstance(entry, Factory),
        "is_component": False,
        **entry.describe(),
    }
    return {name: value for name, value in found.items() if value is not None}
