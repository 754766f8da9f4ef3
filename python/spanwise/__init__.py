"""Receives, stores and searches traces of AI agents.

Public names are imported at first use. A program that only filters or searches does not load the service.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.app import Service
    from spanwise.auth.config import AuthorizationConfig
    from spanwise.client.async_client import AsyncClient, connect_async
    from spanwise.client.expressions import Expression
    from spanwise.client.namespaces import F, S
    from spanwise.client.search_spec import time_range
    from spanwise.client.sync_client import Client, connect
    from spanwise.client.tracing import configure, trace_context
    from spanwise.components import Agent, Call, Condition, Pause, Step, Team, Workflow
    from spanwise.errors import (
        BadRequestError,
        BatchError,
        ConfigurationError,
        DecodeError,
        FactoryContextRequired,
        FactoryError,
        FactoryPermissionError,
        FactoryValidationError,
        FilterError,
        ForbiddenError,
        NotFoundError,
        PayloadTooLargeError,
        ServiceError,
        SpanwiseError,
        StoreClosedError,
        StoreDamagedError,
        StoreError,
        StoreLockedError,
        StoreStoppedError,
        UnauthenticatedError,
        UnavailableError,
        UnreachableError,
        UnsupportedMediaTypeError,
        ValidationError,
    )
    from spanwise.factories import AgentFactory, RequestContext, TeamFactory, TrustedContext, WorkflowFactory
    from spanwise.traces import Filter, TraceStore

__all__ = [
    "Agent",
    "AgentFactory",
    "AsyncClient",
    "AuthorizationConfig",
    "BadRequestError",
    "BatchError",
    "Call",
    "Client",
    "Condition",
    "ConfigurationError",
    "DecodeError",
    "Expression",
    "F",
    "FactoryContextRequired",
    "FactoryError",
    "FactoryPermissionError",
    "FactoryValidationError",
    "Filter",
    "FilterError",
    "ForbiddenError",
    "NotFoundError",
    "Pause",
    "PayloadTooLargeError",
    "RequestContext",
    "S",
    "Service",
    "ServiceError",
    "SpanwiseError",
    "Step",
    "StoreClosedError",
    "StoreDamagedError",
    "StoreError",
    "StoreLockedError",
    "StoreStoppedError",
    "Team",
    "TeamFactory",
    "TraceStore",
    "TrustedContext",
    "UnauthenticatedError",
    "UnavailableError",
    "UnreachableError",
    "UnsupportedMediaTypeError",
    "ValidationError",
    "Workflow",
    "WorkflowFactory",
    "configure",
    "connect",
    "connect_async",
    "time_range",
    "trace_context",
]

_MODULES = {
    "spanwise.app": ("Service",),
    "spanwise.auth.config": ("AuthorizationConfig",),
    "spanwise.client.async_client": (
        "AsyncClient",
        "connect_async",
    ),
    "spanwise.client.expressions": ("Expression",),
    "spanwise.client.namespaces": (
        "F",
        "S",
    ),
    "spanwise.client.search_spec": ("time_range",),
    "spanwise.client.sync_client": (
        "Client",
        "connect",
    ),
    "spanwise.client.tracing": (
        "configure",
        "trace_context",
    ),
    "spanwise.components": (
        "Agent",
        "Call",
        "Condition",
        "Pause",
        "Step",
        "Team",
        "Workflow",
    ),
    "spanwise.factories": (
        "AgentFactory",
        "RequestContext",
        "TeamFactory",
        "TrustedContext",
        "WorkflowFactory",
    ),
    "spanwise.traces": (
        "Filter",
        "TraceStore",
    ),
}
"""The public names of each module. Any other name is an error."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:  # type checkers would accept any name of the package

    def __getattr__(name: str) -> object:
        """Imports a public name from its module."""
        if name not in __all__:
            raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
        found: object = getattr(import_module(_HOMES.get(name, "spanwise.errors")), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Returns the public names."""
    return __all__
