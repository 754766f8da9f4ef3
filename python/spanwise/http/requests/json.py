"""From the body of a request that is JSON to its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from spanwise.errors import UnsupportedMediaTypeError, ValidationError

if TYPE_CHECKING:
    from starlette.requests import Request

JSON = "application/json"

Shape = TypeVar("Shape")


def body_of(request: Request, body: bytes, decoder: msgspec.json.Decoder[Shape]) -> Shape:
    """Returns the body of `request` as the shape of `decoder`. Members that it does not name are ignored.

    Raises:
        UnsupportedMediaTypeError: it is not plain JSON.
        ValidationError: it does not fit; the message ends with the place.
    """
    if media_type(request) != JSON:
        found = request.headers.get("content-type", "")
        raise UnsupportedMediaTypeError(f"expected the content type `{JSON}`, got `{found}`")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise UnsupportedMediaTypeError(f"expected no content encoding, got `{encoding}`")
    try:
        return decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise ValidationError(str(error)) from error
    except RecursionError as error:
        raise ValidationError("JSON is nested too deeply") from error


def media_type(request: Request) -> str:
    """Returns what the body of `request` says it is, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
