"""Forms of run requests, from the bytes of a body to fields that are text, and from fields to what they mean.

Source: specification, "Run-related routes that use factories"; compat 4.1 and 4.4.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from spanwise.errors import BadRequestError, UnsupportedMediaTypeError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from msgspec import Struct
    from starlette.types import Message

Fields = TypeVar("Fields", bound="Struct")

MOST_FIELDS = 100
MOST_BYTES_OF_A_FIELD = 1024 * 1024
MEDIA_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
NOT_BUILT = frozenset(
    {
        *("version", "files", "images", "audio", "videos", "input_files"),
        *("knowledge_filters", "output_schema", "use_json_schema", "add_history_to_context"),
        *("input", "continue_from", "fork", "regenerate", "replace_original", "additional_instructions"),
    }
)
"""Fields that existing clients may send and that nothing here would heed: refused, never ignored."""

GIVEN = ("session_state", "dependencies", "metadata")
"""Fields of a new run that hold a JSON object; a run that goes on has them already."""

_NOT_BUILT = "`{}` is not built yet: a run that needs it is not begun"
_WORDS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}


async def form_of(request: Request, body: bytes) -> dict[str, str]:
    """Returns the fields of a form, each once.

    Raises:
        UnsupportedMediaTypeError: the body is no form.
        BadRequestError: it cannot be read, is over a limit, or has a field or file that is not built.
        ValidationError: a field is given twice.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body and not media_type:
        return {}
    if media_type not in MEDIA_TYPES:
        raise UnsupportedMediaTypeError(f"expected a form, `{'` or `'.join(MEDIA_TYPES)}`, got `{media_type}`")
    if media_type == "multipart/form-data" and not body.rstrip().endswith(b"--"):
        raise BadRequestError("the form cannot be read: it has no end")
    read = Request(request.scope, _once(body))
    try:
        form = await read.form(max_files=0, max_fields=MOST_FIELDS, max_part_size=MOST_BYTES_OF_A_FIELD)
    except MultiPartException as error:
        raise BadRequestError(f"the form cannot be read: {error.message}") from error
    except (HTTPException, ValueError, KeyError) as error:
        raise BadRequestError(f"the form cannot be read: {getattr(error, 'detail', error)}") from error
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        if name in fields:
            raise ValidationError(f"Expected one value, got more - at `{name}`")
        if not isinstance(value, str):
            raise BadRequestError(_NOT_BUILT.format(name))
        fields[name] = value
    refuse(fields, NOT_BUILT)
    return fields


def refuse(given: Container[str], names: Iterable[str]) -> None:
    """Refuses fields that nothing would heed.

    Args:
        given: the fields of a form or of a message.
        names: those that are not heeded.

    Raises:
        BadRequestError: one of them is given.
    """
    for name in sorted(names):
        if name in given:
            raise BadRequestError(_NOT_BUILT.format(name))


def as_shape(fields: Mapping[str, str], shape: type[Fields]) -> Fields:
    """Returns the fields that `shape` names; others are ignored.

    Raises:
        ValidationError: one is missing, or does not fit; the message ends with its name.
    """
    values: dict[str, Any] = {}
    for described in _described(shape):
        if described.name in fields:
            text = fields[described.name]
            values[described.name] = truth(text, described.name) if described.type is bool else text
        elif described.required:
            raise ValidationError(f"Object missing required field `{described.name}`")
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        raise ValidationError(str(error).replace("`$.", "`")) from error


@functools.cache
def _described(shape: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Found out anew each time, it took a twelfth of the event loop's time with a form in every fourth request."""
    return msgspec.structs.fields(shape)


def truth(text: str, name: str) -> bool:
    """Returns what a word says.

    Raises:
        ValidationError: it is none of the words that say yes or no.
    """
    found = _WORDS.get(text.strip().lower())
    if found is None:
        raise ValidationError(f"Expected `true | false`, got `{text[:32]}` - at `{name}`")
    return found


def answers_of(text: str | None, name: str) -> tuple[dict[str, Any], ...]:
    """Returns the answers to what a paused run waits for.

    Raises:
        BadRequestError: they are no JSON array of objects.
    """
    if not text:
        return ()
    try:
        return tuple(msgspec.json.decode(text.encode(), type=list[dict[str, Any]]))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadRequestError(f"Invalid JSON in {name} field") from error


def _once(body: bytes) -> Any:  # noqa: ANN401  # what Starlette calls `Receive`
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
