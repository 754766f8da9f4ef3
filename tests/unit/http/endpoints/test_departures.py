"""Clients that disconnect before their response is ready."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from starlette.requests import Request

from spanwise.errors import CancelledError
from spanwise.http.endpoints.traces import UNWATCHED_SECONDS, unless_disconnected

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.types import Message


def request_of(receive: Callable[[], Coroutine[object, object, Message]]) -> Request:
    """Returns a request whose further messages `receive` returns."""
    return Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


async def leaves() -> Message:
    return {"type": "http.disconnect"}


async def stays() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def test_work_is_cancelled_when_its_client_has_left() -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        with pytest.raises(CancelledError, match="the client disconnected"):
            await asyncio.wait_for(unless_disconnected(request_of(leaves), work()), 10)
        assert ended.is_set()

    asyncio.run(scenario())


def test_short_work_is_not_watched() -> None:
    async def scenario() -> None:
        async def fail() -> Message:
            raise AssertionError("nothing more is read of the request")

        async def work() -> int:
            await asyncio.sleep(0)
            return 7

        assert await unless_disconnected(request_of(fail), work()) == 7
        await asyncio.sleep(2 * UNWATCHED_SECONDS)

    asyncio.run(scenario())


def test_long_work_of_a_client_that_stays_is_finished() -> None:
    async def scenario() -> None:
        async def work() -> int:
            await asyncio.sleep(5 * UNWATCHED_SECONDS)
            return 7

        assert await unless_disconnected(request_of(stays), work()) == 7
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1, "nobody watches any more"

    asyncio.run(scenario())


def test_an_error_of_the_work_is_its_own() -> None:
    async def scenario() -> None:
        async def work() -> None:
            await asyncio.sleep(3 * UNWATCHED_SECONDS)
            raise TimeoutError("of the work")

        with pytest.raises(TimeoutError, match="of the work"):
            await unless_disconnected(request_of(stays), work())

    asyncio.run(scenario())


def test_whoever_cancels_the_request_cancels_the_work() -> None:
    async def scenario() -> None:
        running = asyncio.ensure_future(unless_disconnected(request_of(stays), asyncio.sleep(60)))
        await asyncio.sleep(3 * UNWATCHED_SECONDS)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())
