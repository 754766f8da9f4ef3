"""Starts, continues, cancels, reads and follows runs of every kind of component.

See `docs/reference/api-runs.md#run-routes`.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import msgspec

from spanwise.api.runs import CancelForm, CancelQuery, ContinueForm, CreateForm, ResumeForm, RunListQuery, RunQuery
from spanwise.components import Kind
from spanwise.database import SessionRunQuery
from spanwise.errors import NotFoundError, RunFailedError, UnavailableError
from spanwise.factories import Factory
from spanwise.factories.schema import parse_input
from spanwise.http.requests.caller import component_id_of, owner_of
from spanwise.http.requests.form import OBJECT_FIELDS, convert_fields, decode_answers, decode_form, reject_fields
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.event_stream import content_only, last_event_index
from spanwise.http.responses.held import RunList, held
from spanwise.http.responses.json import json_response
from spanwise.http.responses.runs import describe_run
from spanwise.runs import SessionAddress
from spanwise.runs.launch import LaunchRequest

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.api.runs import RunForm
    from spanwise.database import Database, RunRecord, SessionKey
    from spanwise.fair_budget import Lease
    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.route import Handler
    from spanwise.http.responses.event_stream import StreamSlot
    from spanwise.runs import ActiveRun

ANSWER_FIELDS = {Kind.AGENT: "tools", Kind.TEAM: "requirements", Kind.WORKFLOW: "step_requirements"}
"""The form field with the answers that a paused run waits for."""


def create_run(kind: Kind) -> Handler:
    """Returns the handler of `POST /agents/{id}/runs` and its equivalents."""

    async def handle(request: Request, body: bytes, app_state: AppState) -> Response:
        entry = app_state.registry.entry(kind, component_id_of(request))
        form = convert_fields(await decode_form(request, body), CreateForm)
        factory_input = parse_input(form.factory_input)
        launch = LaunchRequest.of(entry, request.state.identity, request, form, factory_input)
        objects = {name: parse_input(getattr(form, name), name) or {} for name in OBJECT_FIELDS}
        with _stream_slot(form, app_state) as slot:
            run = await app_state.launcher.start(launch, form.message, objects, stream=form.stream)
            return await _respond(run, kind, form, app_state, slot)

    return handle


def continue_run(kind: Kind) -> Handler:
    """Returns the handler of `POST /agents/{id}/runs/{run_id}/continue` and its equivalents."""

    async def handle(request: Request, body: bytes, app_state: AppState) -> Response:
        entry = app_state.registry.entry(kind, component_id_of(request))
        fields = await decode_form(request, body)
        reject_fields(fields, OBJECT_FIELDS)
        form = convert_fields(fields, ContinueForm)
        answers = decode_answers(getattr(form, ANSWER_FIELDS[kind]), ANSWER_FIELDS[kind])
        with app_state.response_budget.hold() as lease:
            record = await _record(request, kind, form.session_id, app_state, lease)
            app_state.runs.expect_paused(record)
            factory_input = parse_input(form.factory_input) if kind is Kind.WORKFLOW else None
            launch = LaunchRequest.of(entry, request.state.identity, request, form, factory_input)
            with _stream_slot(form, app_state) as slot:
                run = await app_state.launcher.resume(launch, record, answers, stream=form.stream)
                lease.release()  # the run itself is charged from here on
                return await _respond(run, kind, form, app_state, slot)

    return handle


def cancel_run(kind: Kind) -> Handler:
    """Returns the handler of `POST /agents/{id}/runs/{run_id}/cancel` and its equivalents. It calls no factory."""

    async def handle(request: Request, body: bytes, app_state: AppState) -> Response:
        component_id = component_id_of(request)
        app_state.registry.entry(kind, component_id)
        form = convert_fields(await decode_form(request, body), CancelForm)
        query = decode_query(request, CancelQuery)
        with app_state.response_budget.hold() as lease:
            await _record(request, kind, form.session_id or query.session_id or None, app_state, lease)
            await app_state.runs.cancel(kind, component_id, request.path_params["run_id"], owner_of(request))
        return json_response({})

    return handle


def list_runs(kind: Kind) -> Handler:
    """Returns the handler of `GET /agents/{id}/runs` and its equivalents: the component's runs in one session."""

    async def handle(request: Request, _body: bytes, app_state: AppState) -> Response:
        query = decode_query(request, RunListQuery)
        await _call_workflow_factory(request, kind, query, app_state)
        user_id = None if query.user_id is msgspec.UNSET else query.user_id
        address = SessionAddress(query.session_id, owner_of(request), user_id)

        def select(database: Database, session: SessionKey) -> SessionRunQuery:
            own = SessionRunQuery(
                session=session, user_id=address.owner, kind=kind, component_id=component_id_of(request)
            )
            if not database.run_sizes(own, 0, 1):
                raise NotFoundError("Session not found")
            return msgspec.structs.replace(own, statuses=(query.status,) if query.status else ())

        async def build(lease: Lease) -> Response:
            return RunList(*await app_state.runs.sessions.runs(address, select, lease, _encode_run)).response()

        return await held(app_state.response_budget, build)

    return handle


def show_run(kind: Kind) -> Handler:
    """Returns the handler of `GET /agents/{id}/runs/{run_id}` and its equivalents."""

    async def handle(request: Request, _body: bytes, app_state: AppState) -> Response:
        query = decode_query(request, RunQuery)
        await _call_workflow_factory(request, kind, query, app_state)

        async def build(lease: Lease) -> Response:
            return json_response(describe_run(await _record(request, kind, query.session_id or None, app_state, lease)))

        return await held(app_state.response_budget, build)

    return handle


def resume_stream(kind: Kind) -> Handler:
    """Returns the handler of `POST /agents/{id}/runs/{run_id}/resume` and its equivalents.

    It streams the events after the last one that the client has, from memory or from the database. It calls no factory.
    """

    async def handle(request: Request, body: bytes, app_state: AppState) -> Response:
        app_state.registry.entry(kind, component_id_of(request))
        form = convert_fields(await decode_form(request, body), ResumeForm)
        after = last_event_index(request, form.last_event_index)
        with app_state.response_budget.hold() as lease:
            run_id = (await _record(request, kind, form.session_id, app_state, lease)).run_id
        with app_state.streams.acquire() as slot:
            return slot.respond(app_state.runs.resubscribe(run_id, after))

    return handle


def _encode_run(record: RunRecord) -> bytes:
    return msgspec.json.encode(describe_run(record))


def _stream_slot(form: RunForm, app_state: AppState) -> AbstractContextManager[StreamSlot | None]:
    """Returns the slot of the stream that a form requests; None if it requests no stream."""
    return app_state.streams.acquire() if form.stream else nullcontext()


async def _respond(run: ActiveRun, kind: Kind, form: RunForm, app_state: AppState, slot: StreamSlot | None) -> Response:
    """Returns the response to a form that started or continued a run: a stream, an acknowledgement, or the result."""
    headers = {"X-Run-ID": run.run_id}
    if slot is not None:
        entries = app_state.runs.subscribe(run)
        return slot.respond(entries if form.stream_events else content_only(entries, kind), headers)
    if form.background:
        acknowledgement = {"run_id": run.run_id, "session_id": run.session_id, "status": "PENDING"}
        return json_response(acknowledgement, 202, headers)
    await run.settled()
    if not run.has_ended:
        raise UnavailableError(
            f"run {run.run_id} is over, but the database of runs does not take its result: read the run again later"
        )
    if run.rejected is not None:
        raise run.rejected
    if run.error is not None:
        raise RunFailedError(f"run {run.run_id} failed") from run.error
    return json_response(run.result, headers=headers)


async def _record(request: Request, kind: Kind, session_id: str | None, app_state: AppState, lease: Lease) -> RunRecord:
    """Returns the run in the path of a request. `lease` takes its memory first."""
    run_id = request.path_params["run_id"]
    await app_state.runs.sessions.reserve_run(run_id, owner_of(request), lease)
    record = await app_state.runs.record(kind, component_id_of(request), run_id, owner_of(request))
    if session_id and record.session_id != session_id:
        raise NotFoundError("Run not found")
    return record


async def _call_workflow_factory(
    request: Request, kind: Kind, query: RunQuery | RunListQuery, app_state: AppState
) -> None:
    """Calls the factory of a workflow, which may reject the caller. The query holds the factory's input."""
    entry = app_state.registry.entry(kind, component_id_of(request))
    if kind is Kind.WORKFLOW and isinstance(entry, Factory):
        factory_input = parse_input(query.factory_input or None)
        claimed = ContinueForm(user_id=query.user_id or None, session_id=query.session_id or None)
        launch = LaunchRequest.of(entry, request.state.identity, request, claimed, factory_input)
        await app_state.launcher.resolve(launch)
