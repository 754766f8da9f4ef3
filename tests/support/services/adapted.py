"""A service that hosts `support.apps.agno_objects`, and the traces of its runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.services.process import RunningService

ENVIRONMENT = {"AGNO_TELEMETRY": "false", "PYTHONWARNINGS": "error::DeprecationWarning:spanwise"}


def start_adapted(folder: Path, *flags: str, **variables: str) -> RunningService:
    """Starts a service over `folder` that hosts agents, teams and workflows of other frameworks."""
    variables |= {"ADAPTED_FOLDER": os.fspath(folder), **ENVIRONMENT}
    return start_hosted(folder, *flags, module="support.apps.agno_objects", **variables)


def start_keeping(folder: Path, *flags: str, **variables: str) -> RunningService:
    """Starts a service over `folder` that hosts agno objects with databases of their own in the same folder."""
    module = "support.apps.agno_sessions"
    return start_hosted(folder, *flags, module=module, ADAPTED_FOLDER=os.fspath(folder), **ENVIRONMENT, **variables)


def trace_of(service: RunningService, result: dict[str, Any]) -> dict[str, Any]:
    """Returns the trace of a run, and fails if it does not exist."""
    response = service.http.get(f"/traces/{result['metadata']['trace_id']}")
    assert response.status_code == 200, response.text
    trace: dict[str, Any] = response.json()
    return trace


def nodes_of(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields every span of a trace, breadth first."""
    waiting = list(trace["tree"])
    while waiting:
        node = waiting.pop(0)
        waiting += node.get("spans", [])
        yield node


def types_of(trace: dict[str, Any]) -> list[str]:
    """Returns the types of all spans, sorted."""
    return sorted(node["type"] for node in nodes_of(trace))
