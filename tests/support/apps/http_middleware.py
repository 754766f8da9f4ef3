"""Programs that mount a service and verify callers in framework middleware, which covers only HTTP."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from litestar import Litestar, asgi
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send  # noqa: TC002  # Litestar reads the annotations
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import Mount

from spanwise import Service, Workflow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.requests import Request
    from starlette.responses import Response

USERS = {"cookie-of-alice": "alice", "cookie-of-bob": "bob"}
service = Service(workflows=[Workflow([str.upper], id="shout")])


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    await service.open()
    yield
    await service.close()


def _user_of(scope: Any) -> str | None:  # each framework has its own type
    return USERS.get(HTTPConnection(scope).cookies.get("session", ""))


async def name_user(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Middleware of Starlette and FastAPI."""
    request.state.user_id = _user_of(request.scope)
    return await call_next(request)


class NameUser(ASGIMiddleware):
    """Middleware of Litestar."""

    scopes = (ScopeType.HTTP, ScopeType.ASGI)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Names the user of a request."""
        if scope["type"] == ScopeType.HTTP:
            scope["state"]["user_id"] = _user_of(scope)
        await next_app(scope, receive, send)


@asgi("/spanwise", is_mount=True, copy_scope=True)
async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
    """Mounts the service in Litestar."""
    await service.app(scope, receive, send)  # type: ignore[arg-type]  # Litestar has types of its own for ASGI


in_fastapi = FastAPI(lifespan=lifespan)
in_fastapi.mount("/spanwise", service.app)
in_fastapi.middleware("http")(name_user)
in_starlette = Starlette(
    routes=[Mount("/spanwise", service.app)],
    middleware=[Middleware(BaseHTTPMiddleware, dispatch=name_user)],
    lifespan=lifespan,
)
in_litestar = Litestar([mounted], middleware=[NameUser()], lifespan=[lifespan])
