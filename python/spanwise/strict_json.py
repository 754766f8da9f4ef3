"""A strict JSON parser that accepts only unambiguous documents, and hints for JSON that people type.

The parser reads tokens and keys. It rejects duplicate members, `NaN` and infinite numbers, invalid UTF-8, and nesting
deeper than 32 levels.
"""

from __future__ import annotations

import json
import math
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DEPTH = 32
"""The maximum depth of nested objects and arrays, including the outermost."""
MAX_NAME_LENGTH = 64
"""The number of characters of a member's name in a message."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""A string, or the rest of a document with an unclosed string. The search would otherwise restart at every quote."""
_OPENING = b"[{"
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class DuplicateMemberError(ValueError):
    """An object has a member twice. The message is the name of the member."""


def read_object(source: bytes) -> dict[str, Any]:
    """Returns the JSON object in `source`.

    Raises:
        ValueError: it is not a JSON object, is ambiguous, or is nested too deeply. Nesting is checked before parsing.
            The message never contains any of `source`.
    """
    if is_nested_deeper(source, MAX_DEPTH):
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        found = _decoder.decode(source.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON with unique members and finite numbers") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004  # an invalid value, not a wrong argument type
    return found


def is_nested_deeper(source: bytes, depth: int) -> bool:
    """Returns whether the objects and arrays in a JSON document are nested deeper than `depth`.

    It does not parse the document. The result for invalid JSON is unspecified.
    """
    if source.count(b"[") + source.count(b"{") <= depth:
        return False
    level = 0
    for bracket in _STRING.sub(b"", source).translate(None, _NO_BRACKETS):
        level += 1 if bracket in _OPENING else -1
        if level > depth:
            return True
    return False


def reject_duplicates(source: str) -> None:
    """Checks that no object in a JSON document repeats a member. Readers disagree about the value of a repeated member.

    Args:
        source: the document; invalid JSON passes, because a later parser rejects it.

    Raises:
        ValueError: an object repeats a member; the message names it.
    """
    try:
        _naming_duplicates.decode(source)
    except DuplicateMemberError as error:
        raise ValueError(f"the member `{str(error)[:MAX_NAME_LENGTH]}` is given twice") from None
    except (ValueError, RecursionError):
        return


def quote_hint(source: str) -> str:
    """Returns a hint if a single quote makes a document invalid JSON, otherwise an empty text.

    Python prints dicts with single quotes, and shells remove unquoted double quotes.
    """
    try:
        _without_numbers.decode(source)
    except json.JSONDecodeError as error:
        if source.startswith("'", error.pos):
            return f"JSON has double quotes, found a single one at character {error.pos + 1}"
    except RecursionError:
        return ""
    return ""


def frozen(members: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a deeply immutable copy of `members`: read-only mappings, and tuples for arrays.

    Raises:
        ValueError: a string in it cannot be encoded as UTF-8.
    """
    frozen_members: Mapping[str, Any] = _frozen(members)
    return frozen_members


def _frozen(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    match value:
        case dict():
            return MappingProxyType({_text(name): _frozen(each) for name, each in value.items()})
        case list():
            return tuple(map(_frozen, value))
        case str():
            return _text(value)
        case _:
            return value


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it contains an unpaired surrogate") from None
    return text


def unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the members of an object by name, in linear time.

    Raises:
        DuplicateMemberError: a name is repeated; the error has the first repeated name.
    """
    unique = dict(members)
    if len(unique) != len(members):
        seen: set[str] = set()
        for name, _ in members:
            if name in seen:
                raise DuplicateMemberError(name)
            seen.add(name)
    return unique


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError
    return number


def _reject(_literal: str) -> NoReturn:
    raise ValueError


# These two parsers need no numbers. Python parses integers in quadratic time and rejects more than 4,300 digits.
_without_numbers = json.JSONDecoder(parse_int=str, parse_float=str)
_naming_duplicates = json.JSONDecoder(object_pairs_hook=unique_members, parse_int=str, parse_float=str)
_decoder = json.JSONDecoder(object_pairs_hook=unique_members, parse_float=_finite, parse_constant=_reject)
