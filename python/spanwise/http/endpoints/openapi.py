"""Serves the OpenAPI document."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spanwise.http.endpoints.static_page import static_response
from spanwise.http.requests.media_types import JSON

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState


async def show_document(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /openapi.json`. Only authenticated callers see the input schemas of factories."""
    app_state.public_response_budget.admit()
    is_authenticated = await app_state.authorizer.is_authenticated(request)
    body = await asyncio.to_thread(app_state.openapi if is_authenticated else app_state.public_openapi)
    return static_response(request, body, JSON)
