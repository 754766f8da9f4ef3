"""Adapters for components of other frameworks.

An adapter is imported when the first object of its framework is met, so that no framework has to be installed.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spanwise.components.base import Kind
from spanwise.components.call import Component
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_ADAPTERS = {"agno": "agno", "pydantic_ai": "pydantic_ai"}
"""The top-level package of a framework, and the module here that adapts its objects."""
_SESSION_DATABASES = {"agno": "agno_sessions"}
"""The same for frameworks whose databases keep sessions; the module has `keeps_sessions` and `delete_session`."""
_WRAPPED = {
    Kind.AGENT: "`Agent({}, id=...)` makes an agent of it",
    Kind.TEAM: "`Team([...], Coordinate({}), id=...)` makes a team that it leads",
    Kind.WORKFLOW: "`Workflow([{}], id=...)` makes a workflow with this step",
}
"""How a function becomes a component of a kind."""

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
        if inspect.isroutine(found):
            name = getattr(found, "__name__", "function")
            hint = _WRAPPED[kind or Kind.AGENT].format(name)
            raise ConfigurationError(f"expected {_wanted(kind or Kind.AGENT)}, got the function `{name}`: {hint}")
        shown = found if isinstance(found, type) else type(found)
        raise ConfigurationError(
            f"expected {_wanted(kind)}, got `{shown.__module__}.{shown.__qualname__}`: "
            "objects of other frameworks need an adapter that satisfies `Component`"
        )
    if kind is not None and component.kind != kind:
        raise ConfigurationError(f"expected {_wanted(kind)}, got the {component.kind} `{component.id}`")
    return component


def _wanted(kind: Kind | None) -> str:
    if kind is None:
        return "a component"
    return f"an {kind}" if kind is Kind.AGENT else f"a {kind}"


def component_or_none(found: object) -> Component | None:
    """Returns an object as a component, through an adapter if necessary; None if it is no component.

    Raises:
        ConfigurationError: the adapter's framework is not installed, or the adapter rejects the object.
    """
    if isinstance(found, type):
        return None
    if isinstance(found, Component):
        return found
    adapter = _module_for(found, _ADAPTERS)
    component: Component | None = None if adapter is None else adapter.adapt(found)
    return component


def keeps_sessions(db: object) -> bool:
    """Returns whether a component's database keeps sessions in a way that an adapter knows."""
    module = _module_for(db, _SESSION_DATABASES)
    return module is not None and bool(module.keeps_sessions(db))


async def delete_session(db: object, session_id: str, user_ids: Collection[str | None]) -> None:
    """Deletes a session from a component's database, if an adapter knows how it keeps them; it need not be there.

    Args:
        db: the database.
        session_id: the id that the session has there.
        user_ids: the users whose session it may be; None for nobody's.

    Raises:
        Exception: whatever the database raised.
    """
    module = _module_for(db, _SESSION_DATABASES)
    if module is not None and module.keeps_sessions(db):
        await module.delete_session(db, session_id, user_ids)


def _module_for(found: object, modules: Mapping[str, str]) -> Any:  # noqa: ANN401  # a module
    """Returns the module here that belongs to the package of an object's class; None if none does.

    Raises:
        ConfigurationError: the framework is not installed.
    """
    packages = [base.__module__.partition(".")[0] for base in type(found).__mro__]
    name = next((modules[package] for package in packages if package in modules), None)
    if name is None:
        return None
    try:
        return import_module(f"{__name__}.{name}")
    except ImportError as error:
        extra = name.replace("_", "-")
        raise ConfigurationError(f"objects of `{name}` need `pip install 'spanwise[{extra}]'`: {error}") from error
