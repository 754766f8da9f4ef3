"""URL-encoded forms: their values, and that large ones do not block the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from spanwise.errors import BadRequestError
from spanwise.http.requests.form import MAX_BYTES_ON_LOOP, MAX_CONTENT_TYPE_CHARACTERS, MAX_FIELDS, decode_form

if TYPE_CHECKING:
    from collections.abc import Callable

URL_ENCODED = "application/x-www-form-urlencoded"


def decoded(body: bytes, content_type: str = URL_ENCODED) -> dict[str, str]:
    request = Request({"type": "http", "headers": [(b"content-type", content_type.encode())]})
    return asyncio.run(decode_form(request, body))


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), max_size=5))
def test_what_is_written_is_read(fields: dict[str, str]) -> None:
    written = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in fields.items())
    assert decoded(written.encode()) == fields


@given(st.text(st.sampled_from("ab=+% 41\u00e9\u20ac;"), max_size=40))
def test_any_text_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert decoded(text.encode()) == dict(parse_qsl(text, keep_blank_values=True))


def test_a_large_form_is_decoded_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threaded: list[str] = []
    to_thread = asyncio.to_thread

    def record(work: Callable[..., Any], *arguments: Any) -> Any:  # the signature of `asyncio.to_thread`
        threaded.append(work.__name__)
        return to_thread(work, *arguments)

    monkeypatch.setattr(asyncio, "to_thread", record)
    assert decoded(b"a=" + b"x" * (MAX_BYTES_ON_LOOP - 2))["a"] == "x" * (MAX_BYTES_ON_LOOP - 2)
    assert not threaded
    assert decoded(b"a=" + b"x" * (MAX_BYTES_ON_LOOP - 1))["a"] == "x" * (MAX_BYTES_ON_LOOP - 1)
    assert len(threaded) == 1


def test_more_fields_or_a_longer_content_type_than_allowed_are_rejected() -> None:
    at_the_limit = b"&".join(b"%d=" % number for number in range(MAX_FIELDS))
    assert len(decoded(at_the_limit)) == MAX_FIELDS
    with pytest.raises(BadRequestError, match=f"more than {MAX_FIELDS} fields"):
        decoded(at_the_limit + b"&x=")
    multipart = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--'
    prefix = "multipart/form-data; boundary=b;"
    assert decoded(multipart, prefix.ljust(MAX_CONTENT_TYPE_CHARACTERS, ";")) == {"a": "x"}
    with pytest.raises(BadRequestError, match="its content type is longer than 1024 characters"):
        decoded(multipart, prefix.ljust(MAX_CONTENT_TYPE_CHARACTERS + 1, ";"))
