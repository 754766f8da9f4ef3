"""The application as the server sees it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spanwise.http.server import without_cancellations

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


def test_a_request_that_is_cancelled_is_no_error_for_the_server_to_log() -> None:
    has_begun = asyncio.Event()

    async def waits(_scope: Scope, _receive: Receive, _send: Send) -> None:
        has_begun.set()
        await asyncio.Event().wait()

    async def scenario() -> None:
        serving = asyncio.ensure_future(serve(waits))
        await has_begun.wait()
        serving.cancel()
        await asyncio.wait_for(serving, 10)

    asyncio.run(scenario())


def test_any_other_error_is() -> None:
    async def fails(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ValueError("of the application")

    with pytest.raises(ValueError, match="of the application"):
        asyncio.run(serve(fails))


async def serve(application: object) -> None:
    async def receive() -> Message:
        raise AssertionError

    async def send(_message: Message) -> None:
        raise AssertionError

    await without_cancellations(application)({"type": "http"}, receive, send)  # type: ignore[arg-type]  # one of these
