"""Which component does this object stand for? Ours as they are, those of other frameworks through an adapter.

An adapter is imported when the first object of its framework is met, so that none of them has to be installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spanwise.components.base import Component
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from spanwise.components.base import Kind

_ADAPTERS = {"agno": "agno", "pydantic_ai": "pydantic_ai"}
"""The package that a class comes from, and the module here that adapts its objects."""

LOGGERS = ("agno", "agno-team", "agno-workflow")
"""The loggers of frameworks that write on their own; `spanwise serve` has them write into its log."""


def as_component(found: object, kind: Kind | None = None) -> Component:
    """Returns `found` as a component, of that kind if one is given.

    Raises:
        ConfigurationError: it is none, and there is no adapter for it.
    """
    component = joined(found)
    if component is None:
        shown = found if isinstance(found, type) else type(found)
        wanted = "a component" if kind is None else f"a component, {kind}"
        raise ConfigurationError(
            f"expected {wanted}, got `{shown.__module__}.{shown.__qualname__}`: "
            "objects of other frameworks need an adapter that satisfies `Component`"
        )
    if kind is not None and component.kind != kind:
        raise ConfigurationError(f"expected a component, {kind}, got the {component.kind} `{component.id}`")
    return component


def joined(found: object) -> Component | None:
    """Returns `found` as a component; None if it is none.

    Raises:
        ConfigurationError: what its adapter needs is not installed, or the adapter refuses it.
    """
    if isinstance(found, type):
        return None
    if isinstance(found, Component):
        return found
    packages = [base.__module__.partition(".")[0] for base in type(found).__mro__]
    name = next((_ADAPTERS[package] for package in packages if package in _ADAPTERS), None)
    if name is None:
        return None
    try:
        adapter = import_module(f"{__name__}.{name}")
    except ImportError as error:
        raise ConfigurationError(f"objects of `{name}` need the extra of that name: {error}") from error
    component: Component | None = adapter.adapt(found)
    return component
