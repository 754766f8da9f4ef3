from __future__ import annotations

import asyncio

import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from spanwise import errors
from spanwise.http.grpc.responses import CODES, GrpcErrorResponse, _status_with_retry
from support.clients.grpc import Reply

ALL = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.SpanwiseError)]


def headers_of(error: errors.SpanwiseError) -> dict[str, str]:
    sent: list[dict[str, str]] = []

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        sent.append({name.decode(): value.decode() for name, value in message.get("headers", ())})

    async def receive() -> dict[str, str]:
        raise NotImplementedError

    asyncio.run(GrpcErrorResponse(error)({"type": "http"}, receive, send))
    return sent[0]


def test_every_status_of_an_error_has_a_code() -> None:
    assert {each.status for each in ALL} <= set(CODES)


@pytest.mark.parametrize("text", ["", "plain", "100 %", "line\nbreak", "größer als 20 MiB", "\x7f\x00", "%41", " x "])
def test_any_text_is_read_as_it_was_written(text: str) -> None:
    headers = headers_of(errors.DecodeError(text))
    assert headers["grpc-message"].isascii()
    assert headers["grpc-message"].isprintable()
    assert headers["grpc-message"] == headers["grpc-message"].strip()
    assert Reply(headers, None, None).text == text


@pytest.mark.parametrize("seconds", [1, 127, 128, 300, 2**40])
def test_the_details_are_protobuf(seconds: int) -> None:
    status = Status.FromString(_status_with_retry(14, "später", seconds))
    found = RetryInfo()
    assert status.details[0].Unpack(found)
    assert (status.code, status.message, found.retry_delay.seconds) == (14, "später", seconds)


def test_only_what_may_succeed_later_says_when() -> None:
    raised = (each("why", "$") if each is errors.FilterError else each("why") for each in ALL)
    saying = {error.status for error in raised if "grpc-status-details-bin" in headers_of(error)}
    assert saying == {503}
