"""Reading bodies: memory taken from the budget is always released."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from spanwise.errors import (
    CancelledError,
    DecodeError,
    PayloadTooLargeError,
    RequestTimeoutError,
    SpanwiseError,
    UnavailableError,
)
from spanwise.http.endpoints.traces import unless_disconnected
from spanwise.http.requests.body import BodyReader

if TYPE_CHECKING:
    from starlette.types import Message

LIMIT = 100
TOGETHER = 150
DISCONNECT: Message = {"type": "http.disconnect"}


def chunk(body: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def request_of(*messages: Message, length: int | None = None) -> Request:
    """Returns a request that receives `messages` and then stalls."""
    waiting = list(messages)

    async def receive() -> Message:
        if not waiting:
            await asyncio.sleep(3600)
        return waiting.pop(0)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    return Request(scope, receive)


def whole(size: int) -> Request:
    return request_of(chunk(b"x" * size, more=False))


async def read(reader: BodyReader, request: Request) -> bytes:
    async with reader.body(request) as body:
        return body


async def has_all_its_memory(reader: BodyReader) -> bool:
    async with reader.body(whole(LIMIT)), reader.body(whole(TOGETHER - LIMIT)):
        return True


def a_reader(deadline_seconds: float = 60.0) -> BodyReader:
    return BodyReader(LIMIT, TOGETHER, deadline_seconds)


@given(st.lists(st.binary(max_size=60), max_size=5), st.booleans())
def test_a_body_is_its_chunks_or_rejected_and_its_memory_is_returned(chunks: list[bytes], ends_early: bool) -> None:  # noqa: FBT001  # Hypothesis draws it
    async def scenario() -> None:
        reader = a_reader()
        last = DISCONNECT if ends_early else chunk(b"", more=False)
        request = request_of(*(chunk(part, more=True) for part in chunks), last)
        size = sum(map(len, chunks))
        expected = PayloadTooLargeError if size > LIMIT else DecodeError if ends_early else None
        if expected:
            with pytest.raises(expected):
                await read(reader, request)
        else:
            assert await read(reader, request) == b"".join(chunks)
        assert await has_all_its_memory(reader)

    asyncio.run(scenario())


def test_an_announced_length_over_the_limit_is_rejected_before_anything_is_read() -> None:
    with pytest.raises(PayloadTooLargeError, match="larger than 100 bytes"):
        asyncio.run(read(a_reader(), request_of(length=LIMIT + 1)))


def test_a_stalled_body_is_rejected_and_a_slow_handler_is_not() -> None:
    async def scenario() -> None:
        reader = a_reader(deadline_seconds=0.01)
        with pytest.raises(RequestTimeoutError):
            await read(reader, request_of(chunk(b"x", more=True)))
        with pytest.raises(TimeoutError):
            async with reader.body(whole(1)):
                raise TimeoutError
        assert await has_all_its_memory(reader)

    asyncio.run(scenario())


def test_bodies_share_the_budget_as_long_as_they_are_used() -> None:
    async def scenario() -> None:
        reader = a_reader()
        async with reader.body(whole(LIMIT)):
            with pytest.raises(UnavailableError, match="too many bytes"):
                await read(reader, whole(TOGETHER - LIMIT + 1))
            assert len(await read(reader, whole(TOGETHER - LIMIT))) == TOGETHER - LIMIT
        assert await has_all_its_memory(reader)

    asyncio.run(scenario())


def test_a_caller_that_disconnects_cancels_its_handler() -> None:
    cancelled: list[bool] = []

    async def response() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.append(True)

    async def scenario() -> None:
        request = request_of(chunk(b"", more=False), DISCONNECT)
        with pytest.raises(CancelledError, match="the client disconnected"):
            await unless_disconnected(request, response())
        await asyncio.sleep(0)
        assert cancelled == [True]

    asyncio.run(scenario())


def test_a_caller_that_stays_gets_the_response_or_the_error() -> None:
    async def response() -> bytes:
        return b"found"

    async def reject() -> bytes:
        raise UnavailableError("later")

    async def scenario() -> None:
        assert await unless_disconnected(request_of(), response()) == b"found"
        with pytest.raises(SpanwiseError, match="later"):
            await unless_disconnected(request_of(), reject())

    asyncio.run(scenario())


@pytest.mark.parametrize("length", ["", "x", "-1", "+1", "1_0", "1.0", " 1", "\u00b2", "9" * 20, "9" * 5000])
def test_a_length_that_is_no_number_is_400(length: str) -> None:
    request = request_of(chunk(b"x", more=False))
    request.scope["headers"] = [(b"content-length", length.encode("latin-1"))]
    with pytest.raises(DecodeError, match=r"^expected a `Content-Length` of at most 19 digits, got `"):
        asyncio.run(read(BodyReader(LIMIT, TOGETHER, 5), request))
