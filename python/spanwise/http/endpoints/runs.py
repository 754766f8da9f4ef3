"""The routes of runs: begun, read, continued, cancelled and followed, for each kind of component.

Source: specification, "Run-related routes that use factories", "RequestContext"; compat 4.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from spanwise.components import Kind
from spanwise.errors import ComponentError, NotFoundError, ValidationError
from spanwise.factories import Factory
from spanwise.factories.schema import parse_input
from spanwise.http.endpoints.components import as_json
from spanwise.http.requests.component import component_of, context_of
from spanwise.http.requests.form import GIVEN, answers_of, as_shape, form_of, refuse
from spanwise.http.responses.event_stream import last_index, pieces
from spanwise.http.schemas.run_forms import CancelForm, ContinueForm, CreateForm, ResumeForm
from spanwise.runs import RunRequest

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.database import RunRecord
    from spanwise.http.backend import Backend, Handler
    from spanwise.http.responses.event_stream import Place
    from spanwise.runs import ActiveRun

ANSWERS = {Kind.AGENT: "tools", Kind.TEAM: "requirements", Kind.WORKFLOW: "step_requirements"}
"""The field that holds the answers to what a paused run waits for."""


def create_run(kind: Kind) -> Handler:
    """Returns what answers `POST /agents/{id}/runs` and its like."""

    async def answer(request: Request, body: bytes, backend: Backend) -> Response:
        entry = backend.registry.entry(kind, _component_id(request))
        form = as_shape(await form_of(request, body), CreateForm)
        context = context_of(request.state.identity, form, parse_input(form.factory_input), request)
        given = {name: parse_input(getattr(form, name), name) or {} for name in GIVEN}
        with _place(form, backend) as place:
            component = await component_of(entry, context, backend)
            asked = RunRequest(
                message=form.message,
                user_id=context.user_id,
                session_id=context.session_id,
                owner=_owner(request),
                traceparent=request.headers.get("traceparent"),
                **given,
            )
            live = await backend.runs.start(component, asked)
            return await _answer(kind, live, form, backend, place)

    return answer


def continue_run(kind: Kind) -> Handler:
    """Returns what answers `POST /agents/{id}/runs/{run_id}/continue` and its like."""

    async def answer(request: Request, body: bytes, backend: Backend) -> Response:
        entry = backend.registry.entry(kind, _component_id(request))
        fields = await form_of(request, body)
        refuse(fields, GIVEN)
        form = as_shape(fields, ContinueForm)
        answers = answers_of(getattr(form, ANSWERS[kind]), ANSWERS[kind])
        record = await _record(request, kind, form.session_id, backend)
        backend.runs.expect_paused(record)
        reads_input = kind is Kind.WORKFLOW
        given = parse_input(form.factory_input) if reads_input else None
        context = context_of(request.state.identity, form, given, request)
        with _place(form, backend) as place:
            component = await component_of(entry, context, backend, read_input=reads_input)
            live = await backend.runs.resume(component, record, answers, request.headers.get("traceparent"))
            return await _answer(kind, live, form, backend, place)

    return answer


def cancel_run(kind: Kind) -> Handler:
    """Returns what answers `POST /agents/{id}/runs/{run_id}/cancel` and its like. No factory is called."""

    async def answer(request: Request, body: bytes, backend: Backend) -> Response:
        component_id = _component_id(request)
        backend.registry.entry(kind, component_id)
        form = as_shape(await form_of(request, body), CancelForm)
        await _record(request, kind, form.session_id or request.query_params.get("session_id"), backend)
        await backend.runs.cancel(kind, component_id, request.path_params["run_id"], _owner(request))
        return as_json({})

    return answer


def list_runs(kind: Kind) -> Handler:
    """Returns what answers `GET /agents/{id}/runs` and its like: the component's runs in one session."""

    async def answer(request: Request, _body: bytes, backend: Backend) -> Response:
        await _read_factory(request, kind, backend)
        session_id = request.query_params.get("session_id")
        if not session_id:
            raise ValidationError("Object missing required parameter `session_id`")
        records = await backend.runs.records(session_id, _owner(request))
        own = [record for record in records if (record.kind, record.component_id) == (kind, _component_id(request))]
        if not own:
            raise NotFoundError("Session not found")
        status = request.query_params.get("status")
        return as_json([shown(record) for record in own if not status or record.status == status])

    return answer


def show_run(kind: Kind) -> Handler:
    """Returns what answers `GET /agents/{id}/runs/{run_id}` and its like."""

    async def answer(request: Request, _body: bytes, backend: Backend) -> Response:
        await _read_factory(request, kind, backend)
        return as_json(shown(await _record(request, kind, request.query_params.get("session_id"), backend)))

    return answer


def resume_run(kind: Kind) -> Handler:
    """Returns what answers `POST /agents/{id}/runs/{run_id}/resume` and its like: the events after the last one.

    No factory is called: events are replayed from memory, else from the database.
    """

    async def answer(request: Request, body: bytes, backend: Backend) -> Response:
        backend.registry.entry(kind, _component_id(request))
        form = as_shape(await form_of(request, body), ResumeForm)
        after = last_index(request, form.last_event_index)
        record = await _record(request, kind, form.session_id, backend)
        with backend.streams.place() as place:
            return place.answer(backend.runs.resubscribe(record.run_id, after))

    return answer


def shown(record: RunRecord) -> dict[str, Any]:
    """Returns a run as it is read: its result, or what is known as long as it has none."""
    component = {f"{record.kind}_id": record.component_id}
    known = {"run_id": record.run_id, "session_id": record.session_id, "user_id": record.user_id, **component}
    said = record.message if record.kind == Kind.WORKFLOW else {"input_content": record.message}
    found = {**known, "input": said, "created_at": record.created_at, **record.result, "status": record.status}
    return {name: value for name, value in found.items() if value is not None}


def _place(form: CreateForm | ContinueForm, backend: Backend) -> AbstractContextManager[Place | None]:
    """Returns the place of the stream that a form asks for, if it asks for one."""
    return backend.streams.place() if form.stream else nullcontext()


async def _answer(
    kind: Kind, live: ActiveRun, form: CreateForm | ContinueForm, backend: Backend, place: Place | None
) -> Response:
    headers = {"X-Run-ID": live.run_id}
    if place is not None:
        entries = backend.runs.subscribe(live)
        return place.answer(entries if form.stream_events else pieces(entries, kind), headers)
    if form.background:
        begun = {"run_id": live.run_id, "session_id": live.session_id, "status": "PENDING"}
        return as_json(begun, 202, headers)
    await live.ended()
    if live.error is not None:
        raise ComponentError(f"run {live.run_id} failed") from live.error
    return as_json(live.result, headers=headers)


async def _record(request: Request, kind: Kind, session_id: str | None, backend: Backend) -> RunRecord:
    run_id = request.path_params["run_id"]
    record = await backend.runs.record(kind, _component_id(request), run_id, _owner(request))
    if session_id and record.session_id != session_id:
        raise NotFoundError("Run not found")
    return record


async def _read_factory(request: Request, kind: Kind, backend: Backend) -> None:
    """Calls the factory where the specification has reads call it: for workflows, with input from the query."""
    entry = backend.registry.entry(kind, _component_id(request))
    if kind is Kind.WORKFLOW and isinstance(entry, Factory):
        form = as_shape(request.query_params, ContinueForm)
        context = context_of(request.state.identity, form, parse_input(form.factory_input), request)
        await component_of(entry, context, backend)


def _owner(request: Request) -> str | None:
    owner: str | None = request.state.identity.owner_filter
    return owner


def _component_id(request: Request) -> str:
    component_id: str = request.path_params["component_id"]
    return component_id
