"""The rows of the route table for what is hosted: the same for agents, teams and workflows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from spanwise.auth.scopes import Need
from spanwise.components import Kind
from spanwise.http.endpoints import components, config, runs, sessions
from spanwise.http.openapi.describe import Answer, Operation
from spanwise.http.schemas.run_forms import CancelForm, ContinueForm, CreateForm, ResumeForm
from spanwise.http.schemas.runs import (
    AgentRun,
    Begun,
    Cancelled,
    CancelQuery,
    Hosted,
    Run,
    RunListQuery,
    RunQuery,
    TeamRun,
    WorkflowRun,
)
from spanwise.http.schemas.sessions import (
    SessionCreation,
    SessionCreationQuery,
    SessionDetail,
    SessionList,
    SessionListQuery,
    SessionQuery,
    SessionRenaming,
    SessionRunsQuery,
    SessionUpdate,
)
from spanwise.models import Config, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.http.backend import Handler

Members = dict[str, Any]
"""The members of one row."""

_RUN = {Kind.AGENT: AgentRun, Kind.TEAM: TeamRun, Kind.WORKFLOW: WorkflowRun}
_RUNS = {Kind.AGENT: list[AgentRun], Kind.TEAM: list[TeamRun], Kind.WORKFLOW: list[WorkflowRun]}
_EVENTS = Answer(200, media_type="text/event-stream")
_BEGUN = Answer(202, (Begun,))
_of_runs = partial(Operation, is_of_runs=True)


def hosting_rows() -> Iterator[Members]:
    """Gives the members of every row."""
    for kind in Kind:
        yield from _rows_to_read(kind)
        yield from _rows_to_run(kind)
    yield from _rows_of_sessions()
    yield _row("GET /config", "config:read", config.show_config, Operation("get_config", "Its parts", (Config,)))
    yield _row("GET /models", "config:read", config.list_models, Operation("get_models", "Its models", (list[Model],)))


def _row(line: str, scopes: str, handler: Handler, operation: Operation, **more: Any) -> Members:  # noqa: ANN401
    """Returns the members of a row: its method and path, the scopes one of which is needed, and the rest."""
    method, path = line.split(" ")
    needed = Need.of(*scopes.split(" "))
    return {"method": method, "path": path, "handler": handler, "need": needed, "operation": operation, **more}


def _rows_to_read(kind: Kind) -> Iterator[Members]:
    every, one = f"/{kind}s", f"/{kind}s/{{component_id}}"
    read, run_or_read = f"{kind}s:read", f"{kind}s:run {kind}s:read"
    input_of = kind if kind is Kind.WORKFLOW else None
    said = _of_runs(f"get_{kind}s", f"The {kind}s that are hosted", (list[Hosted],))
    yield _row(f"GET {every}", read, components.list_components(kind), said, lists=True)
    said = _of_runs(f"get_{kind}", f"One {kind}", (Hosted,))
    yield _row(f"GET {one}", read, components.show_component(kind), said)
    answers = (_RUNS[kind],)
    said = _of_runs(f"get_{kind}_runs", "Its runs in one session", answers, query=RunListQuery, input_of=input_of)
    yield _row(f"GET {one}/runs", run_or_read, runs.list_runs(kind), said)
    said = _of_runs(f"get_{kind}_run", "One run", (_RUN[kind],), query=RunQuery, input_of=input_of)
    yield _row(f"GET {one}/runs/{{run_id}}", run_or_read, runs.show_run(kind), said)


def _rows_to_run(kind: Kind) -> Iterator[Members]:
    many = f"/{kind}s/{{component_id}}/runs"
    one = f"{many}/{{run_id}}"
    run = f"{kind}s:run"
    moving = partial(_of_runs, answers=(_RUN[kind],), others=(_EVENTS, _BEGUN))
    said = moving(f"create_{kind}_run", "Begins a run", request=CreateForm, input_of=kind)
    yield _row(f"POST {many}", run, runs.create_run(kind), said, body="form")
    input_of = kind if kind is Kind.WORKFLOW else None
    said = moving(f"continue_{kind}_run", "Goes on with a paused run", request=ContinueForm, input_of=input_of)
    yield _row(f"POST {one}/continue", run, runs.continue_run(kind), said, body="form")
    said = _of_runs(f"cancel_{kind}_run", "Ends a run", (Cancelled,), query=CancelQuery, request=CancelForm)
    yield _row(f"POST {one}/cancel", run, runs.cancel_run(kind), said, body="form")
    words = "The events of a run after the last one"
    said = _of_runs(f"resume_{kind}_run", words, media_type=_EVENTS.media_type, request=ResumeForm)
    yield _row(f"POST {one}/resume", run, runs.resume_run(kind), said, body="form")


def _rows_of_sessions() -> Iterator[Members]:
    one = "/sessions/{session_id}"
    read, write = "sessions:read", "sessions:write"
    of_one = partial(_of_runs, answers=(SessionDetail,), query=SessionQuery)
    said = _of_runs("get_sessions", "A page of sessions", (SessionList,), query=SessionListQuery)
    yield _row("GET /sessions", read, sessions.list_sessions, said)
    answers = (SessionDetail,)
    said = partial(_of_runs, query=SessionCreationQuery, request=SessionCreation)(
        "create_session", "Begins one without a run", answers, success=201
    )
    yield _row("POST /sessions", write, sessions.create_session, said, body="search")
    said = of_one("get_session", "One session, with what was said in it")
    yield _row(f"GET {one}", read, sessions.show_session, said)
    said = of_one("update_session", "Changes it", request=SessionUpdate)
    yield _row(f"PATCH {one}", write, sessions.update_session, said, body="search")
    said = of_one("rename_session", "Names it", request=SessionRenaming)
    yield _row(f"POST {one}/rename", write, sessions.rename_session, said, body="search")
    said = _of_runs("delete_session", "Removes it, with its runs", query=SessionQuery, success=204)
    yield _row(f"DELETE {one}", "sessions:delete", sessions.delete_session, said)
    said = _of_runs("get_session_runs", "Its runs", (list[Run],), query=SessionRunsQuery)
    yield _row(f"GET {one}/runs", read, sessions.list_session_runs, said)
    said = _of_runs("get_session_run", "One of its runs", tuple(_RUN.values()), query=SessionQuery)
    yield _row(f"GET {one}/runs/{{run_id}}", read, sessions.show_session_run, said)
