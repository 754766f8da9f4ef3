"""A service that hosts `support.agno_objects`, and what its tests look up."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from support.hosted_service import hosting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.service import Running

SILENT = {"AGNO_TELEMETRY": "false", "PYTHONWARNINGS": "error::DeprecationWarning:spanwise"}


def adapting(folder: Path, *flags: str) -> Running:
    """Returns a service over `folder` that hosts objects of other frameworks."""
    return hosting(folder, *flags, module="support.agno_objects", ADAPTED_FOLDER=os.fspath(folder), **SILENT)


def trace_of(service: Running, result: dict[str, Any]) -> dict[str, Any]:
    """Returns the trace of a run; that it can be read is the first assertion."""
    answer = service.http.get(f"/traces/{result['metadata']['trace_id']}")
    assert answer.status_code == 200, answer.text
    trace: dict[str, Any] = answer.json()
    return trace


def nodes_of(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Gives every span of a trace, the outer ones first."""
    waiting = list(trace["tree"])
    while waiting:
        node = waiting.pop(0)
        waiting += node.get("spans", [])
        yield node


def types_of(trace: dict[str, Any]) -> list[str]:
    """Returns the types of all spans, sorted."""
    return sorted(node["type"] for node in nodes_of(trace))
