"""Describes the parts of the service to programs, without calling any factory. See `docs/reference/api.md#config`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.api.components import HostedSummary, Model
from spanwise.api.service import Config, DatabaseConfig, DatabasesConfig, DomainConfig, SettingValue
from spanwise.components import Kind
from spanwise.http.core.database_ids import SESSIONS_DATABASE_ID
from spanwise.http.responses.components import describe_component
from spanwise.http.responses.json import json_response
from spanwise.settings import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.database_ids import DatabaseIds
    from spanwise.registry import Entry


async def show_config(_request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /config`."""
    hosted = {kind: [_summary(kind, entry) for entry in app_state.registry.entries(kind)] for kind in Kind}
    databases = app_state.databases
    # `available_models` is omitted: agno clients before version 3 reject objects in it, and later ones reject strings.
    # All of them accept its absence.
    return json_response(
        Config(
            os_id=app_state.id,
            name=app_state.name,
            os_database=SESSIONS_DATABASE_ID,
            databases=[*databases.all],
            session=_domain("Sessions", databases.sessions, databases),
            traces=_domain("Traces", databases.traces, databases),
            agents=hosted[Kind.AGENT],
            teams=hosted[Kind.TEAM],
            workflows=hosted[Kind.WORKFLOW],
            interfaces=[],
        )
    )


async def list_settings(_request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /settings`: the settings in effect, without secrets, in the order of the documentation."""
    return json_response(
        [
            SettingValue(name=name, value=value, default=TABLE[name].default, description=TABLE[name].description)
            for name, value in app_state.settings.items()
        ]
    )


async def list_models(_request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /models`: the models of agents, teams, their members and workflow steps, without duplicates."""
    return json_response(_models(app_state))


def _domain(name: str, ids: Iterable[str], databases: DatabaseIds) -> DatabasesConfig:
    """Returns the databases of one domain. Databases of components are displayed by id, as in agno's service."""
    return DatabasesConfig(
        [DatabaseConfig(each, DomainConfig(each if each in databases.components else name)) for each in ids]
    )


def _summary(kind: Kind, entry: Entry) -> HostedSummary:
    described = describe_component(entry)
    names = ["id", "name", "description", "db_id", "mode"]
    names += ["is_factory", "factory_input_schema", "is_component"] if kind is Kind.WORKFLOW else []
    members = {name: described[name] for name in names if name in described}
    return HostedSummary(**members, model=_model(described.get("model")))


def _models(app_state: AppState) -> list[Model]:
    found: dict[Model, None] = {}
    waiting = [describe_component(entry) for entry in app_state.registry]
    for described in waiting:
        waiting += [each for name in ("members", "steps", "else_steps") for each in described.get(name, ())]
        waiting += [described[name] for name in ("agent", "team") if name in described]
        model = _model(described.get("model"))
        if model is not None:
            found[model] = None
    return list(found)


def _model(described: dict[str, Any] | None) -> Model | None:
    return None if not described else Model(described.get("model") or described.get("name"), described.get("provider"))
