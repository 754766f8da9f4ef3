"""Decodes query strings."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar

import msgspec
import msgspec.inspect
from msgspec import Struct

from spanwise.errors import ValidationError

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request

MAX_PARAMETERS = 100
MAX_PUBLIC_BYTES = 1024
"""The length limit of the query of a public route, whose callers are unknown."""

Query = TypeVar("Query", bound=Struct)


def decode_query(request: Request, shape: type[Query]) -> Query:
    """Returns the query of `request` as `shape`. Unknown parameters are ignored.

    Raises:
        ValidationError: the query is over a limit, a parameter is invalid, or one that is not a list is given twice.
            The message ends with the name of the parameter.
    """
    try:
        return msgspec.convert(_given(request, shape) if request.scope["query_string"] else {}, shape, strict=False)
    except msgspec.ValidationError as error:
        raise ValidationError(str(error).replace("`$.", "`")) from error


def query_parameters(request: Request) -> QueryParams:
    """Returns the parameters in the query of `request`. Checks the length before parsing.

    Raises:
        ValidationError: the query has more than `MAX_PARAMETERS`, or more than `MAX_PUBLIC_BYTES` on a public route.
    """
    query: bytes = request.scope["query_string"]
    if query.count(b"&") >= MAX_PARAMETERS:
        raise ValidationError(f"the query has more than {MAX_PARAMETERS} parameters")
    if len(query) > MAX_PUBLIC_BYTES and getattr(request.state, "is_public", False):
        raise ValidationError(f"the query is longer than {MAX_PUBLIC_BYTES} bytes")
    return request.query_params


def _given(request: Request, shape: type[Struct]) -> dict[str, str | list[str]]:
    """Returns the values of the query's parameters, by name.

    Raises:
        ValidationError: a parameter that is not a list is given twice.
    """
    given = query_parameters(request)
    lists = _lists_of(shape)
    for name in shape.__struct_encode_fields__:
        if name not in lists and len(given.getlist(name)) > 1:
            raise ValidationError(f"Expected one value, got more - at `{name}`")
    return dict(given) | {name: given.getlist(name) for name in lists if name in given}


@cache
def _lists_of(shape: type[Struct]) -> frozenset[str]:
    """Returns the parameters that may be given more than once."""
    fields = msgspec.inspect.type_info(shape).fields  # type: ignore[attr-defined]  # only a Struct has it
    return frozenset(field.encode_name for field in fields if _is_list(field.type))


def _is_list(kind: msgspec.inspect.Type) -> bool:
    """Returns True if a type is a list or a union with a list."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return _is_list(kind.type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return any(map(_is_list, kind.types))
    return isinstance(kind, msgspec.inspect.ListType)
