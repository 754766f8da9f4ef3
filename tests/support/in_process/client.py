"""A service in the process of the test, without a server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spanwise import Service


@asynccontextmanager
async def client_of(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """Yields a client of the application of a service. Neither starts nor stops the service."""
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client
