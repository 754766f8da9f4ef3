"""Receives, keeps and searches the traces of AI agents."""

from spanwise.app import Service
from spanwise.auth.config import AuthorizationConfig
from spanwise.components import Agent, Call, Condition, Pause, Step, Team, Workflow
from spanwise.errors import (
    BatchError,
    ConfigurationError,
    DecodeError,
    FactoryContextRequired,
    FactoryError,
    FactoryPermissionError,
    FactoryValidationError,
    FilterError,
    PayloadTooLargeError,
    SpanwiseError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
    StoreStoppedError,
    UnavailableError,
    UnsupportedMediaTypeError,
)
from spanwise.factories import AgentFactory, RequestContext, TeamFactory, TrustedContext, WorkflowFactory
from spanwise.traces import Filter, TraceStore

__all__ = [
    "Agent",
    "AgentFactory",
    "AuthorizationConfig",
    "BatchError",
    "Call",
    "Condition",
    "ConfigurationError",
    "DecodeError",
    "FactoryContextRequired",
    "FactoryError",
    "FactoryPermissionError",
    "FactoryValidationError",
    "Filter",
    "FilterError",
    "Pause",
    "PayloadTooLargeError",
    "RequestContext",
    "Service",
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
    "UnavailableError",
    "UnsupportedMediaTypeError",
    "Workflow",
    "WorkflowFactory",
]
