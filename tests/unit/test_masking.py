"""The log contains no token or password of a caller, from any path, query or address."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.masking import MASK, MAX_CHARACTERS, masked, masked_request_text
from support.clients.forged_tokens import forge

SECRET = "hunter2-Zk9"  # noqa: S105  # a test value


@pytest.mark.parametrize(
    "text",
    [
        "/path?access_token={}",
        "/path?a=1&access_token={}&b=2",
        "/path?token={}",
        "/path%3Faccess_token%3D{}",
        "/v1/traces;api_key={}",
        "/v1/traces?api-key={}",
        "/v1/traces?x-api-key={}",
        "/v1/traces?key={}",
        "/v1/traces?sig={}",
        "/v1/traces?client_secret={}",
        "/login?user=ann&password={}",
        "/Bearer {}",
        "/bearer%20{}/traces",
        "/traces/Bearer+{}",
        "/Bearer/{}",
        "/Bearer:{}",
        "/Authorization: Bearer {}",
        "/authorization=Basic {}",
        "/token/{}/traces",
        "/access_token/{}",
        "/http://ann:{}@host/traces",
        "/https://{}@host/traces",
        "/ann:{}@host/traces",
        "//ann:{}@host",
        "?url=postgresql://ann:{}@host:5432/runs",
    ],
)
def test_a_secret_of_a_request_is_masked(text: str) -> None:
    shown = masked_request_text(text.format(SECRET))
    assert SECRET not in shown
    assert MASK in shown
    assert masked_request_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "/traces/019a5f7c-9f2f-7000-8000-000000000000",
        "/agents/weather/runs/019a5f7c/continue",
        "/sessions/ann@example.org/runs",
        "/v1/traces",
        "/traces/search?key_id=1",
        "/ui/assets/index-B1x2.js",
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    ],
)
def test_a_usual_path_is_shown_as_it_is(text: str) -> None:
    assert masked_request_text(text) == text


@pytest.mark.parametrize(
    "message",
    [
        'its exporter sends a token with OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer TOKEN"',
        "expected a bearer token",
        "its token needs the scope `traces:write`",
        "listening on http://127.0.0.1:7777",
        "basic types only",
    ],
)
def test_a_message_of_the_service_is_shown_as_it_is(message: str) -> None:
    assert masked(message) == message


@pytest.mark.parametrize(
    "text",
    [
        "cannot connect to postgresql://ann:{}@host:5432/runs",
        "GET /path?access_token={} failed",
        "the key sk-proj-{}000000000000 is invalid",
        "Authorization: Bearer {}000000000000",
    ],
)
def test_a_secret_in_any_line_is_masked(text: str) -> None:
    assert SECRET not in masked(text.format(SECRET))


@given(st.text(string.ascii_letters + "/?&=:@. %", max_size=60), st.text(string.ascii_letters + "/?&", max_size=20))
def test_a_token_of_the_service_is_never_shown(before: str, after: str) -> None:
    token = forge()
    for text in (masked(f"{before}{token}{after}"), masked_request_text(f"{before}{token}{after}")):
        assert not any(part in text for part in token.split("."))


def test_a_long_path_is_cut_before_it_is_looked_at() -> None:
    assert len(masked_request_text("/a:" * 10_000)) <= MAX_CHARACTERS
