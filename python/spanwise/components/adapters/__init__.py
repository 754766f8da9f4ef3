"""Adapters for components of other frameworks.

An adapter is imported when the first object of its framework is met, so that no framework has to be installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spanwise.components.call import Component
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from spanwise.components.base import Kind

_ADAPTERS = {"agno": "agno", "pydantic_ai": "pydantic_ai"}
"""The top-level package of a framework, and the module here that adapts its objects."""

LOGGERS = ("agno", "agno-team", "agno-workflow")
"""The loggers that frameworks configure themselves; `spanwise serve` redirects them to its own log."""


def as_component(found: object, kind: Kind | None = None) -> Component:
    """Returns an object as a component, through an adapter if it belongs to a supported framework.

    Args:
        found: the object.
        kind: the kind that it must have; None for any.

    Raises:
        ConfigurationError: it is no component, no adapter supports it, or it is of another kind.
    """
    component = component_or_none(found)
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


def component_or_none(found: object) -> Component | None:
    """Returns an object as a component, through an adapter if necessary; None if it is no component.

    Raises:
        ConfigurationError: the adapter's framework is not installed, or the adapter rejects the object.
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
