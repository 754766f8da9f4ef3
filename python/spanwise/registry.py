"""The registry of hosted components: prototypes and factories, by kind and id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from spanwise.components import Component, Kind, as_component
from spanwise.errors import ConfigurationError, FactoryContextRequired, NotFoundError
from spanwise.factories import Factory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Entry: TypeAlias = Component | Factory
"""The object under an id: a prototype or a factory."""


class Registry:
    """The components and factories of one service. The registry does not change after its creation."""

    def __init__(self, hosted: Mapping[Kind, Sequence[object]]) -> None:
        """Adapts and initializes the components.

        Args:
            hosted: the objects to host, by kind.

        Raises:
            ConfigurationError: an id is empty, contains `/` or is used twice, or an object is neither a component nor a
                factory of its kind.
        """
        self._entries = {kind: _entries(kind, hosted.get(kind, ())) for kind in Kind}

    def entries(self, kind: Kind) -> Iterator[Entry]:
        """Returns the entries of one kind, in the order of registration."""
        return iter(self._entries[kind].values())

    def __iter__(self) -> Iterator[Entry]:
        """Returns the entries of all kinds, in the order of registration."""
        return (entry for kind in Kind for entry in self.entries(kind))

    @property
    def hosts(self) -> bool:
        """Returns whether the registry has entries."""
        return any(self._entries.values())

    def count(self, kind: Kind) -> int:
        """Returns the number of entries of one kind."""
        return len(self._entries[kind])

    def inputs(self) -> dict[str, dict[str, Any]]:
        """Returns the JSON schemas of factory inputs, by kind and id."""
        return {
            kind: {
                entry.id: entry.describe()["input_schema"]
                for entry in self._entries[kind].values()
                if isinstance(entry, Factory) and entry.input_schema is not None
            }
            for kind in Kind
        }

    def entry(self, kind: Kind, component_id: str) -> Entry:
        """Returns the entry with an id.

        Raises:
            NotFoundError: there is no such entry.
        """
        found = self._entries[kind].get(component_id)
        if found is None:
            raise NotFoundError(f"{kind.capitalize()} not found")
        return found

    def component(self, kind: Kind, component_id: str) -> Component:
        """Returns the prototype with an id, for use without a request.

        Raises:
            NotFoundError: there is no such entry.
            FactoryContextRequired: the entry is a factory.
        """
        found = self.entry(kind, component_id)
        if isinstance(found, Factory):
            raise FactoryContextRequired(f"{kind} `{component_id}` is a factory and requires a request context")
        return found


def _entries(kind: Kind, hosted: Sequence[object]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for each in hosted:
        entry = _entry(kind, each)
        if not entry.id or "/" in entry.id:
            raise ConfigurationError(f"every {kind} needs an id, a text without `/`; got `{entry.id}`")
        if entry.id in found:
            raise ConfigurationError(f"two {kind}s have the id `{entry.id}`")
        if isinstance(entry, Component):
            entry.initialize()
        found[entry.id] = entry
    return found


def _entry(kind: Kind, hosted: object) -> Entry:
    if not isinstance(hosted, Factory):
        return as_component(hosted, kind)
    if getattr(hosted, "kind", None) != kind:
        raise ConfigurationError(f"`{hosted.id}` is a factory of another kind than {kind}")
    return hosted
