"""JSON as it must be where it decides who someone is: nothing about it may be read in two ways.

Refused: a member that stands twice, `NaN` and numbers without bound, text that is not UTF-8, nesting beyond 32.
"""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

DEEPEST = 32


def read_object(source: bytes) -> dict[str, Any]:
    """Returns the JSON object that `source` is.

    Raises:
        ValueError: it is not one, or could be read in more than one way. The text never holds what was read.
    """
    try:
        found = _decoder.decode(source.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON with unique members and finite numbers") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  # what was sent is at fault, not a caller of ours
    return found


def frozen(members: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns `members` so that nobody can change them, at any depth: mappings, and tuples for arrays.

    Raises:
        ValueError: it is nested too deeply, or a text in it cannot be written as UTF-8.
    """
    frozen_members: Mapping[str, Any] = _frozen(members, DEEPEST)
    return frozen_members


def _frozen(value: Any, depth_left: int) -> Any:  # noqa: ANN401  # any JSON value
    if depth_left == 0:
        raise ValueError(f"it is nested deeper than {DEEPEST}")
    match value:
        case dict():
            return MappingProxyType({_text(name): _frozen(each, depth_left - 1) for name, each in value.items()})
        case list():
            return tuple(_frozen(each, depth_left - 1) for each in value)
        case str():
            return _text(value)
        case _:
            return value


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a character") from None
    return text


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        raise ValueError
    return unique


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError
    return number


def _refused(_literal: str) -> NoReturn:
    raise ValueError


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refused)
