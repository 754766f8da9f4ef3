"""The routes that say what is hosted: agents, teams and workflows, prototypes and factories alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from spanwise.auth.scopes import Need
from spanwise.factories import Factory

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.components import Kind
    from spanwise.http.backend import Backend, Handler
    from spanwise.registry import Entry

JSON = "application/json"


def list_components(kind: Kind) -> Handler:
    """Returns what answers `GET /agents` and its like: what the caller may read. No factory is called."""

    async def answer(request: Request, _body: bytes, backend: Backend) -> Response:
        visible = request.state.identity.visible_ids(Need.of(f"{kind}s:read"))
        found = [described(entry) for entry in backend.registry.entries(kind) if visible is None or entry.id in visible]
        return as_json(found)

    return answer


def show_component(kind: Kind) -> Handler:
    """Returns what answers `GET /agents/{id}` and its like. No factory is called."""

    async def answer(request: Request, _body: bytes, backend: Backend) -> Response:
        return as_json(described(backend.registry.entry(kind, request.path_params["component_id"])))

    return answer


def described(entry: Entry) -> dict[str, Any]:
    """Returns what is said of a prototype or factory; what it has not is left out."""
    found = {
        "id": entry.id,
        "name": entry.name or entry.id,
        "description": entry.description,
        "db_id": getattr(entry.db, "id", None),
        "is_factory": isinstance(entry, Factory),
        "is_component": False,
        **entry.describe(),
    }
    return {name: value for name, value in found.items() if value is not None}


def as_json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Returns a JSON answer."""
    return Response(msgspec.json.encode(value), status_code=status, media_type=JSON, headers=headers)
