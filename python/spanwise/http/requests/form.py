"""Decodes the forms of run requests: bytes to text fields, then text fields to typed values.

See `docs/reference/api-runs.md#run-routes`.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from spanwise.errors import BadRequestError, UnsupportedMediaTypeError, ValidationError
from spanwise.http.requests.media_types import MULTIPART_FORM, URL_ENCODED_FORM
from spanwise.strict_json import reject_duplicates

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from msgspec import Struct
    from starlette.datastructures import UploadFile
    from starlette.types import Message

Fields = TypeVar("Fields", bound="Struct")

MAX_FIELDS = 100
MAX_FIELD_BYTES = 1024 * 1024
MAX_BYTES_ON_LOOP = 64 * 1024
"""Larger URL-encoded forms are decoded in a thread, because the escapes of the largest form take up to a second."""
MAX_CONTENT_TYPE_CHARACTERS = 1024
"""The length limit of a multipart form's `Content-Type`, whose parameters are parsed."""
MEDIA_TYPES = (URL_ENCODED_FORM, MULTIPART_FORM)
UNSUPPORTED = frozenset(
    {
        *("version", "files", "images", "audio", "videos", "input_files"),
        *("knowledge_filters", "output_schema", "use_json_schema", "add_history_to_context"),
        *("input", "continue_from", "fork", "regenerate", "replace_original", "additional_instructions"),
    }
)
"""Fields that agno clients may send and that Spanwise does not implement. They are rejected, not ignored."""

OBJECT_FIELDS = ("session_state", "dependencies", "metadata")
"""Fields of a new run that hold a JSON object. A continued run already has them."""

_UNSUPPORTED_FIELD = "`{}` is not supported, so the run was not started"
_BOOLEANS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}


async def decode_form(request: Request, body: bytes) -> dict[str, str]:
    """Returns the fields of a form by name.

    Raises:
        UnsupportedMediaTypeError: the body is not a form.
        BadRequestError: the form is malformed or over a limit, or has a file or an unsupported field.
        ValidationError: a field is given twice.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body and not media_type:
        return {}
    if media_type not in MEDIA_TYPES:
        raise UnsupportedMediaTypeError(f"expected a form, `{'` or `'.join(MEDIA_TYPES)}`, got `{media_type:.256}`")
    items = await (_url_encoded(body) if media_type == URL_ENCODED_FORM else _multipart(request, body))
    fields: dict[str, str] = {}
    for name, value in items:
        if name in fields:
            raise ValidationError(f"Expected one value, got more - at `{name}`")
        if not isinstance(value, str):
            raise BadRequestError(_UNSUPPORTED_FIELD.format(name))
        fields[name] = value
    reject_fields(fields, UNSUPPORTED)
    return fields


async def _url_encoded(body: bytes) -> list[tuple[str, UploadFile | str]]:
    """Returns the fields of a URL-encoded form.

    Raises:
        BadRequestError: the form has too many fields, or a field is too long.
    """
    fields = body.split(b"&", MAX_FIELDS)
    if any(len(field) > MAX_FIELD_BYTES for field in fields):
        raise BadRequestError(f"the form is malformed: a field has more than {MAX_FIELD_BYTES} bytes")
    if len(fields) > MAX_FIELDS:
        raise BadRequestError(f"the form is malformed: it has more than {MAX_FIELDS} fields")
    return await asyncio.to_thread(_pairs, fields) if len(body) > MAX_BYTES_ON_LOOP else _pairs(fields)


def _pairs(fields: Iterable[bytes]) -> list[tuple[str, UploadFile | str]]:
    pairs = (field.replace(b"+", b" ").partition(b"=") for field in fields if field)
    return [(_unescaped(name), _unescaped(value)) for name, _, value in pairs]


def _unescaped(text: bytes) -> str:
    # `urllib.parse.unquote` takes five times as long if non-ASCII characters occur between the escapes.
    return unquote_to_bytes(text).decode("utf-8", "replace")


async def _multipart(request: Request, body: bytes) -> list[tuple[str, UploadFile | str]]:
    """Returns the fields of a multipart form.

    Raises:
        BadRequestError: the form is malformed, or has a file, too many fields, or a field that is too long.
    """
    if len(request.headers["content-type"]) > MAX_CONTENT_TYPE_CHARACTERS:
        raise BadRequestError(
            f"the form is malformed: its content type is longer than {MAX_CONTENT_TYPE_CHARACTERS} characters"
        )
    if not body.rstrip().endswith(b"--"):
        raise BadRequestError("the form is malformed: it has no closing boundary")
    replayed = Request(request.scope, _once(body))
    try:
        form = await replayed.form(max_files=0, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES)
    except MultiPartException as error:
        raise BadRequestError(f"the form is malformed: {error.message}") from error
    except (HTTPException, ValueError, KeyError) as error:
        raise BadRequestError(f"the form is malformed: {getattr(error, 'detail', error)}") from error
    return form.multi_items()


def reject_fields(given: Container[str], names: Iterable[str]) -> None:
    """Rejects fields that would have no effect.

    Args:
        given: the fields of a form or of a message.
        names: the fields to reject.

    Raises:
        BadRequestError: one of `names` is given.
    """
    for name in sorted(names):
        if name in given:
            raise BadRequestError(_UNSUPPORTED_FIELD.format(name))


def convert_fields(fields: Mapping[str, str], shape: type[Fields]) -> Fields:
    """Returns `fields` as `shape`. Unknown fields are ignored.

    Raises:
        ValidationError: a field is missing or invalid; the message ends with its name.
    """
    values: dict[str, Any] = {}
    for field in _fields_of(shape):
        if field.name in fields:
            text = fields[field.name]
            values[field.name] = _boolean(text, field.name) if field.type is bool else text
        elif field.required:
            raise ValidationError(f"Object missing required field `{field.name}`")
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        raise ValidationError(str(error).replace("`$.", "`")) from error


@functools.cache
def _fields_of(shape: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Returns the fields of a struct.

    The cache saves 1/12 of the event loop's time when 1/4 of the requests are forms.
    """
    return msgspec.structs.fields(shape)


def _boolean(text: str, name: str) -> bool:
    """Returns `text` as a boolean.

    Raises:
        ValidationError: the text is not a boolean.
    """
    found = _BOOLEANS.get(text.strip().lower())
    if found is None:
        raise ValidationError(f"Expected `true | false`, got `{text[:32]}` - at `{name}`")
    return found


def decode_answers(text: str | None, name: str) -> tuple[dict[str, Any], ...]:
    """Returns the answers that a paused run waits for.

    Raises:
        BadRequestError: the field `name` is not a JSON array of objects, or an object in it repeats a member.
    """
    if not text:
        return ()
    try:
        answers = tuple(msgspec.json.decode(text.encode(), type=list[dict[str, Any]]))
        reject_duplicates(text)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"Invalid JSON in {name} field") from error
    return answers


def _once(body: bytes) -> Any:  # noqa: ANN401  # Starlette's `Receive`
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
