"""The gRPC health service that load balancers and orchestrators probe: `grpc.health.v1.Health/Check`.

It is open to everyone, like `GET /health`. `Watch` is not implemented; clients work without it.

Source: gRPC, "GRPC Health Checking Protocol".
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spanwise.errors import DecodeError, NotFoundError, RequestTimeoutError
from spanwise.http.grpc.responses import GrpcResponse

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.route import Handler

SERVICE = "grpc.health.v1.Health"
MAX_MESSAGE_BYTES = 1024
READ_SECONDS = 10
_SERVICE_TAG = 0x0A
_SERVING, _NOT_SERVING = b"\x08\x01", b"\x08\x02"


def check_health(services: Collection[str]) -> Handler:
    """Returns the handler of `Check`, which reports the readiness of `GET /health?ready=true`.

    Args:
        services: the service names that a probe may request, in addition to the empty name.
    """

    async def check(request: Request, _body: bytes, app_state: AppState) -> Response:
        name = _service_in(await _read(request))
        if name and name not in services:
            raise NotFoundError(f"no service is named `{name}`")
        return GrpcResponse(_SERVING if await app_state.not_ready() is None else _NOT_SERVING)

    return check


async def _read(request: Request) -> bytes:
    """Returns the message of an unknown caller. The frame reader limits its size."""
    message, more = b"", True
    try:
        async with asyncio.timeout(READ_SECONDS):
            while more:
                received = await request.receive()
                message += received.get("body", b"")
                more = received.get("more_body", False)
    except TimeoutError as error:
        raise RequestTimeoutError(f"the message took longer than {READ_SECONDS} s to arrive") from error
    return message


def _service_in(message: bytes) -> str:
    """Returns the name in a `HealthCheckRequest`. The length of the name fits in one byte."""
    if not message:
        return ""
    if len(message) < 2 or message[0] != _SERVICE_TAG or message[1] != len(message) - 2:  # noqa: PLR2004  # tag, length
        raise DecodeError("expected the name of a service")
    return message[2:].decode("utf-8", "replace")
