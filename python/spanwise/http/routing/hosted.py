"""The routes of hosted components, their runs and sessions. Agents, teams and workflows have the same routes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spanwise.api.components import Hosted, Model
from spanwise.api.runs import (
    AgentRun,
    Begun,
    CancelForm,
    Cancelled,
    CancelQuery,
    ContinueForm,
    CreateForm,
    ResumeForm,
    Run,
    RunListQuery,
    RunQuery,
    TeamRun,
    WorkflowRun,
)
from spanwise.api.service import Config, SettingValue
from spanwise.api.sessions import (
    RunPreview,
    SessionCreation,
    SessionCreationQuery,
    SessionDetail,
    SessionList,
    SessionListQuery,
    SessionQuery,
    SessionRenaming,
    SessionRunsQuery,
    SessionsDeletion,
    SessionsDeletionQuery,
    SessionUpdate,
)
from spanwise.auth.scopes import Need
from spanwise.components import Kind
from spanwise.http.core.operation import Operation, ResponseSpec
from spanwise.http.core.route import Route
from spanwise.http.endpoints import components, config, runs, sessions
from spanwise.http.requests.media_types import EVENT_STREAM

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN = {Kind.AGENT: AgentRun, Kind.TEAM: TeamRun, Kind.WORKFLOW: WorkflowRun}
_RUNS = {Kind.AGENT: list[AgentRun], Kind.TEAM: list[TeamRun], Kind.WORKFLOW: list[WorkflowRun]}
_WITH_ARTICLE = {Kind.AGENT: "an agent", Kind.TEAM: "a team", Kind.WORKFLOW: "a workflow"}
_EVENTS = ResponseSpec(200, media_type=EVENT_STREAM)
_BEGUN = ResponseSpec(202, (Begun,))
_operation = partial(Operation, concerns_runs=True)


def hosted_routes() -> Iterator[Route]:
    """Yields the routes in the order in which their paths are matched."""
    for kind in Kind:
        yield from _component_routes(kind)
        yield from _run_routes(kind)
    yield from _session_list_routes()
    yield from _session_routes()
    yield Route(
        "GET",
        "/config",
        config.show_config,
        Operation("get_config", "Describes the components and databases of the service", (Config,)),
        Need.of("config:read"),
    )
    yield Route(
        "GET",
        "/settings",
        config.list_settings,
        Operation("get_settings", "Lists the settings in effect, without secrets", (list[SettingValue],)),
        Need.of("config:read"),
    )
    yield Route(
        "GET",
        "/models",
        config.list_models,
        Operation("get_models", "Lists the models that agents and teams use", (list[Model],)),
        Need.of("config:read"),
    )


def _component_routes(kind: Kind) -> Iterator[Route]:
    list_path, path = f"/{kind}s", f"/{kind}s/{{component_id}}"
    read, run_or_read = Need.of(f"{kind}s:read"), Need.of(f"{kind}s:run", f"{kind}s:read")
    one, factory_kind = _WITH_ARTICLE[kind], kind if kind is Kind.WORKFLOW else None
    yield Route(
        "GET",
        list_path,
        components.list_components(kind),
        _operation(f"get_{kind}s", f"Lists the hosted {kind}s", (list[Hosted],)),
        read,
        is_filtered_by_scope=True,
    )
    yield Route(
        "GET",
        path,
        components.show_component(kind),
        _operation(f"get_{kind}", f"Describes {one}", (Hosted,)),
        read,
    )
    yield Route(
        "GET",
        f"{path}/runs",
        runs.list_runs(kind),
        _operation(
            f"get_{kind}_runs",
            f"Lists the runs of {one} in one session",
            (_RUNS[kind],),
            query=RunListQuery,
            factory_kind=factory_kind,
            reads_runs=True,
        ),
        run_or_read,
    )
    yield Route(
        "GET",
        f"{path}/runs/{{run_id}}",
        runs.show_run(kind),
        _operation(
            f"get_{kind}_run",
            f"Returns one run of {one}",
            (_RUN[kind],),
            query=RunQuery,
            factory_kind=factory_kind,
            reads_runs=True,
        ),
        run_or_read,
    )


def _run_routes(kind: Kind) -> Iterator[Route]:
    list_path = f"/{kind}s/{{component_id}}/runs"
    path = f"{list_path}/{{run_id}}"
    need, one = Need.of(f"{kind}s:run"), _WITH_ARTICLE[kind]
    launching = partial(_operation, shapes=(_RUN[kind],), other_responses=(_EVENTS, _BEGUN))
    yield Route(
        "POST",
        list_path,
        runs.create_run(kind),
        launching(f"create_{kind}_run", f"Runs {one}", request=CreateForm, factory_kind=kind),
        need,
        body="form",
    )
    yield Route(
        "POST",
        f"{path}/continue",
        runs.continue_run(kind),
        launching(
            f"continue_{kind}_run",
            f"Continues a paused run of {one}",
            request=ContinueForm,
            factory_kind=kind if kind is Kind.WORKFLOW else None,
        ),
        need,
        body="form",
    )
    yield Route(
        "POST",
        f"{path}/cancel",
        runs.cancel_run(kind),
        _operation(
            f"cancel_{kind}_run", f"Cancels a run of {one}", (Cancelled,), query=CancelQuery, request=CancelForm
        ),
        need,
        body="form",
    )
    yield Route(
        "POST",
        f"{path}/resume",
        runs.resume_stream(kind),
        _operation(
            f"resume_{kind}_run",
            f"Streams the events of a run of {one} after the last one that the client has",
            media_type=EVENT_STREAM,
            request=ResumeForm,
        ),
        need,
        body="form",
    )


def _session_list_routes() -> Iterator[Route]:
    yield Route(
        "GET",
        "/sessions",
        sessions.list_sessions,
        _operation(
            "get_sessions", "Returns a page of sessions", (SessionList,), query=SessionListQuery, reads_runs=True
        ),
        Need.of("sessions:read"),
    )
    yield Route(
        "POST",
        "/sessions",
        sessions.create_session,
        _operation(
            "create_session",
            "Creates a session without a run",
            (SessionDetail,),
            query=SessionCreationQuery,
            request=SessionCreation,
            success=201,
        ),
        Need.of("sessions:write"),
        body="search",
    )
    yield Route(
        "DELETE",
        "/sessions",
        sessions.delete_sessions,
        _operation(
            "delete_sessions",
            "Deletes several sessions with their runs",
            query=SessionsDeletionQuery,
            request=SessionsDeletion,
            success=204,
        ),
        Need.of("sessions:delete"),
        body="search",
    )


def _session_routes() -> Iterator[Route]:
    path = "/sessions/{session_id}"
    read, write, delete = map(Need.of, ("sessions:read", "sessions:write", "sessions:delete"))
    detail = partial(_operation, shapes=(SessionDetail,), query=SessionQuery, reads_runs=True)
    yield Route(
        "GET",
        path,
        sessions.show_session,
        detail("get_session", "Returns one session with its messages"),
        read,
    )
    yield Route(
        "PATCH",
        path,
        sessions.update_session,
        detail("update_session", "Changes the name, state or metadata of a session", request=SessionUpdate),
        write,
        body="search",
    )
    yield Route(
        "POST",
        f"{path}/rename",
        sessions.rename_session,
        detail("rename_session", "Renames a session", request=SessionRenaming),
        write,
        body="search",
    )
    yield Route(
        "DELETE",
        path,
        sessions.delete_session,
        _operation("delete_session", "Deletes a session with its runs", query=SessionQuery, success=204),
        delete,
    )
    yield from _session_run_routes(path, read)


def _session_run_routes(path: str, read: Need) -> Iterator[Route]:
    yield Route(
        "GET",
        f"{path}/runs",
        sessions.list_session_runs,
        _operation(
            "get_session_runs",
            "Lists the runs of a session",
            (list[Run],),
            query=SessionRunsQuery,
            reads_runs=True,
        ),
        read,
    )
    yield Route(
        "GET",
        f"{path}/run-previews",
        sessions.list_run_previews,
        _operation(
            "get_session_run_previews",
            "Lists the runs of a session in short",
            (list[RunPreview],),
            query=SessionRunsQuery,
            reads_runs=True,
        ),
        read,
    )
    yield Route(
        "GET",
        f"{path}/runs/{{run_id}}",
        sessions.show_session_run,
        _operation(
            "get_session_run",
            "Returns one run of a session",
            tuple(_RUN.values()),
            query=SessionQuery,
            reads_runs=True,
        ),
        read,
    )
