"""The rows of the route table for what is hosted: the same for agents, teams and workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.auth.scopes import Need
from spanwise.components import Kind
from spanwise.http import components, runs, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator


def hosting_rows() -> Iterator[dict[str, Any]]:
    """Gives the members of every row."""
    for kind in Kind:
        yield from _rows_of(kind)
    read, forget = Need.of("sessions:read"), Need.of("sessions:delete")
    one = "/sessions/{session_id}"
    yield {"method": "GET", "path": "/sessions", "handler": sessions.list_sessions, "need": read}
    yield {"method": "GET", "path": one, "handler": sessions.show_session, "need": read}
    yield {"method": "GET", "path": f"{one}/runs", "handler": sessions.list_session_runs, "need": read}
    yield {"method": "DELETE", "path": one, "handler": sessions.delete_session, "need": forget}


def _rows_of(kind: Kind) -> Iterator[dict[str, Any]]:
    read, run = Need.of(f"{kind}s:read"), Need.of(f"{kind}s:run")
    run_or_read = Need.of(f"{kind}s:run", f"{kind}s:read")
    every, one = f"/{kind}s", f"/{kind}s/{{component_id}}"
    many_runs, one_run = f"{one}/runs", f"{one}/runs/{{run_id}}"
    yield {"method": "GET", "path": every, "handler": components.list_components(kind), "need": read, "lists": True}
    yield {"method": "GET", "path": one, "handler": components.show_component(kind), "need": read}
    yield {"method": "GET", "path": many_runs, "handler": runs.list_runs(kind), "need": run_or_read}
    yield {"method": "GET", "path": one_run, "handler": runs.show_run(kind), "need": run_or_read}
    for path, handler in (
        (many_runs, runs.create_run(kind)),
        (f"{one_run}/continue", runs.continue_run(kind)),
        (f"{one_run}/cancel", runs.cancel_run(kind)),
        (f"{one_run}/resume", runs.resume_run(kind)),
    ):
        yield {"method": "POST", "path": path, "handler": handler, "need": run, "body": "form"}
