"""The rows of the route table for what is hosted: the same for agents, teams and workflows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from spanwise.auth.scopes import Need
from spanwise.components import Kind
from spanwise.http import components, runs, sessions
from spanwise.http.openapi import Operation
from spanwise.http.run_forms import CancelForm, ContinueForm, CreateForm, ResumeForm

if TYPE_CHECKING:
    from collections.abc import Iterator

_of_runs = partial(Operation, is_of_runs=True)


def hosting_rows() -> Iterator[dict[str, Any]]:
    """Gives the members of every row."""
    for kind in Kind:
        yield from _rows_of(kind)
    read, forget = Need.of("sessions:read"), Need.of("sessions:delete")
    one = "/sessions/{session_id}"
    for method, path, handler, need, operation in (
        (
            "GET",
            "/sessions",
            sessions.list_sessions,
            read,
            _of_runs("get_sessions", "A page of sessions"),
        ),
        (
            "GET",
            one,
            sessions.show_session,
            read,
            _of_runs("get_session", "One session, with what was said in it"),
        ),
        (
            "GET",
            f"{one}/runs",
            sessions.list_session_runs,
            read,
            _of_runs("get_session_runs", "Its runs"),
        ),
        (
            "DELETE",
            one,
            sessions.delete_session,
            forget,
            _of_runs("delete_session", "Removes it, with its runs", success=204),
        ),
    ):
        yield {"method": method, "path": path, "handler": handler, "need": need, "operation": operation}


def _rows_of(kind: Kind) -> Iterator[dict[str, Any]]:
    read, run = Need.of(f"{kind}s:read"), Need.of(f"{kind}s:run")
    run_or_read = Need.of(f"{kind}s:run", f"{kind}s:read")
    every, one = f"/{kind}s", f"/{kind}s/{{component_id}}"
    many_runs, one_run = f"{one}/runs", f"{one}/runs/{{run_id}}"
    for path, handler, need, operation in (
        (every, components.list_components(kind), read, _of_runs(f"get_{kind}s", f"The {kind}s that are hosted")),
        (one, components.show_component(kind), read, _of_runs(f"get_{kind}", f"One {kind}")),
        (
            many_runs,
            runs.list_runs(kind),
            run_or_read,
            _of_runs(f"get_{kind}_runs", "Its runs in one session"),
        ),
        (one_run, runs.show_run(kind), run_or_read, _of_runs(f"get_{kind}_run", "One run")),
    ):
        row = {"method": "GET", "path": path, "handler": handler, "need": need, "operation": operation}
        yield {**row, "lists": path == every}
    for path, name, handler, summary, form in (
        (many_runs, "create", runs.create_run(kind), "Begins a run", CreateForm),
        (f"{one_run}/continue", "continue", runs.continue_run(kind), "Goes on with a paused run", ContinueForm),
        (f"{one_run}/cancel", "cancel", runs.cancel_run(kind), "Ends a run", CancelForm),
        (f"{one_run}/resume", "resume", runs.resume_run(kind), "The events of a run after the last one", ResumeForm),
    ):
        operation = _of_runs(f"{name}_{kind}_run", summary, request=form)
        row = {"method": "POST", "path": path, "handler": handler, "need": run, "operation": operation}
        yield {**row, "body": "form"}
