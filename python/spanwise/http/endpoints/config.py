"""The routes that say what the service consists of, for programs that show it. No factory is called.

Source: compat 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.components import Kind
from spanwise.http.endpoints.components import as_json, described
from spanwise.http.endpoints.sessions import DATABASE_ID
from spanwise.models import Config, DatabaseConfig, DatabasesConfig, DomainConfig, HostedSummary, Model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.backend import Backend
    from spanwise.registry import Entry


async def show_config(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /config`."""
    hosted = {kind: [_summary(kind, entry) for entry in backend.registry.entries(kind)] for kind in Kind}
    trace_ids = backend.traces.ids
    return as_json(
        Config(
            os_id=backend.id,
            name=backend.name,
            available_models=[model.id for model in _models(backend) if model.id],
            os_database=DATABASE_ID,
            databases=[*dict.fromkeys((*trace_ids, DATABASE_ID))],
            session=_databases([DATABASE_ID], "Sessions"),
            traces=_databases(trace_ids, "Traces"),
            agents=hosted[Kind.AGENT],
            teams=hosted[Kind.TEAM],
            workflows=hosted[Kind.WORKFLOW],
            interfaces=[],
        )
    )


async def list_models(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /models`: what agents, teams and their members use, each once."""
    return as_json(_models(backend))


def _databases(ids: Iterable[str], name: str) -> DatabasesConfig:
    return DatabasesConfig([DatabaseConfig(each, DomainConfig(name)) for each in ids])


def _summary(kind: Kind, entry: Entry) -> HostedSummary:
    said = described(entry)
    names = ["id", "name", "description", "db_id", "mode"]
    names += ["is_factory", "factory_input_schema", "is_component"] if kind is Kind.WORKFLOW else []
    members = {name: said[name] for name in names if name in said}
    return HostedSummary(**members, model=_model(said.get("model")))


def _models(backend: Backend) -> list[Model]:
    found: dict[Model, None] = {}
    waiting = [described(entry) for kind in Kind for entry in backend.registry.entries(kind)]
    for said in waiting:
        waiting += said.get("members", ())
        model = _model(said.get("model"))
        if model is not None:
            found[model] = None
    return list(found)


def _model(said: dict[str, Any] | None) -> Model | None:
    return None if not said else Model(said.get("model") or said.get("name"), said.get("provider"))
