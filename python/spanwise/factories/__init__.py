"""Factories build a new component for each request."""

from spanwise.factories.context import RequestContext, TrustedContext
from spanwise.factories.kinds import AgentFactory, Factory, TeamFactory, WorkflowFactory

__all__ = ["AgentFactory", "Factory", "RequestContext", "TeamFactory", "TrustedContext", "WorkflowFactory"]
