"""Wraps the objects of other frameworks as components.

The first object of a framework imports its adapter, so no framework has to be installed.
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
"""The adapter module of a framework, by the framework's top-level package."""
_SESSION_DATABASES = {"agno": "agno_sessions"}
"""The same for frameworks whose databases store sessions. The module has `keeps_sessions` and `delete_session`."""
_WRAPPED = {
    Kind.AGENT: "`Agent({}, id=...)` makes an agent of it",
    Kind.TEAM: "`Team([...], Coordinate({}), id=...)` makes a team that it leads",
    Kind.WORKFLOW: "`Workflow([{}], id=...)` makes a workflow with this step",
}
"""How to turn a function into a component of a kind."""

LOGGERS = ("agno", "agno-team", "agno-workflow")
"""The loggers that frameworks configure themselves. `spanwise serve` redirects them to its own log."""


def as_component(found: object, kind: Kind | None = None) -> Component:
    """Returns an object as a component, through an adapter if it belongs to a supported framework.

    Args:
        found: the object.
        kind: the required kind; None accepts any.

    Raises:
        ConfigurationError: the object is not a component, has no adapter, or is of another kind.
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
    """Returns an object as a component, through an adapter if necessary; None if it is not a component.

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
    """Returns whether an adapter can delete sessions from this database of a component."""
    module = _module_for(db, _SESSION_DATABASES)
    return module is not None and bool(module.keeps_sessions(db))


async def delete_session(db: object, session_id: str, user_ids: Collection[str | None]) -> None:
    """Deletes a session from a component's database. Does nothing if it is missing, or the database is not supported.

    Args:
        db: the database.
        session_id: the id of the session in this database.
        user_ids: the possible owners; None means a session without a user.

    Raises:
        Exception: any error of the database.
    """
    module = _module_for(db, _SESSION_DATABASES)
    if module is not None and module.keeps_sessions(db):
        await module.delete_session(db, session_id, user_ids)


def _module_for(found: object, modules: Mapping[str, str]) -> Any:  # noqa: ANN401  # a module
    """Returns the module for the package of an object's class; None if there is no such module.

    Raises:
        ConfigurationError: the framework is not installed.
    """
    packages = [base.__module__.partition(".")[0] for base in type(found).__mro__]
    name = next((modules[package] for package in packages if package in modules), None)
    if name is None:
        return None
    try:
        return import_module(f"spanwise.components.adapters.{name}")
    except ImportError as error:
        extra = name.replace("_", "-")
        raise ConfigurationError(f"objects of `{name}` need `pip install 'spanwise[{extra}]'`: {error}") from error
