"""Decodes JSON request bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from spanwise.errors import UnsupportedMediaTypeError, ValidationError
from spanwise.http.requests.media_types import JSON
from spanwise.strict_json import quote_hint

if TYPE_CHECKING:
    from starlette.requests import Request

Shape = TypeVar("Shape")


def decode_json(request: Request, body: bytes, decoder: msgspec.json.Decoder[Shape]) -> Shape:
    """Returns the body of `request`, decoded by `decoder`. Unknown members are ignored.

    Raises:
        UnsupportedMediaTypeError: the body is not plain JSON.
        ValidationError: the body does not match the shape; the message ends with the location.
    """
    if media_type(request) != JSON:
        found = request.headers.get("content-type", "")
        raise UnsupportedMediaTypeError(f"expected the content type `{JSON}`, got `{found:.256}`")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise UnsupportedMediaTypeError(f"expected no content encoding, got `{encoding:.256}`")
    try:
        body.decode()  # checks the whole text, because the decoder skips members that it ignores
        return decoder.decode(body)
    except UnicodeDecodeError as error:
        raise ValidationError(f"JSON is not UTF-8: {error.reason} - at byte {error.start}") from error
    except msgspec.MsgspecError as error:
        hint = "" if isinstance(error, msgspec.ValidationError) else quote_hint(body.decode())
        raise ValidationError(f"{error}: {hint}".removesuffix(": ")) from error
    except RecursionError as error:
        raise ValidationError("JSON is nested too deeply") from error


def media_type(request: Request) -> str:
    """Returns the media type of the request's body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
