"""A strict JSON parser, which accepts only unambiguous documents, and hints about JSON that people typed.

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
"""Objects and arrays within each other, the outermost included."""
MAX_NAME_LENGTH = 64
"""Characters of a member's name that a message shows."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""A string, or the rest of a document in which it does not end: or the search would begin again at every quote."""
_OPENING = b"[{"
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class DuplicateMemberError(ValueError):
    """An object has a member twice. The message is the name of the member."""


def read_object(source: bytes) -> dict[str, Any]:
    """Returns the JSON object in `source`.

    Raises:
        ValueError: it is not a JSON object, is ambiguous, or is nested too deeply, which is found before it is parsed.
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
    """Returns whether the objects and arrays in a JSON document stand deeper within each other than `depth`.

    It does not parse the document. Of bytes that are no JSON the result may be either.
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
    """Checks that no object in a JSON document has a member twice: readers disagree about which of the two counts.

    Args:
        source: the document; what is no JSON is left to the parser that reads it.

    Raises:
        ValueError: an object has a member twice; the message names it.
    """
    try:
        _naming_duplicates.decode(source)
    except DuplicateMemberError as error:
        raise ValueError(f"the member `{str(error)[:MAX_NAME_LENGTH]}` is given twice") from None
    except (ValueError, RecursionError):
        return


def quote_hint(source: str) -> str:
    """Returns a hint for a document that is no JSON because of a single quote; else an empty text.

    Python prints its objects with single quotes, and shells take double ones away from what is not quoted itself.
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
    """Returns the members of an object by name. The work is proportional to their number.

    Raises:
        DuplicateMemberError: a name is given twice; it is the first one that is given again.
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


# Python reads an integer in quadratic time and refuses more than 4,300 digits; these two parsers need no numbers.
_without_numbers = json.JSONDecoder(parse_int=str, parse_float=str)
_naming_duplicates = json.JSONDecoder(object_pairs_hook=unique_members, parse_int=str, parse_float=str)
_decoder = json.JSONDecoder(object_pairs_hook=unique_members, parse_float=_finite, parse_constant=_reject)
