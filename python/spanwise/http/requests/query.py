"""Decodes query strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from spanwise.errors import ValidationError

if TYPE_CHECKING:
    from starlette.requests import Request

Query = TypeVar("Query", bound=Struct)


def decode_query(request: Request, shape: type[Query]) -> Query:
    """Returns the query of `request` as `shape`. Unknown parameters are ignored.

    Raises:
        ValidationError: a parameter is given twice, or does not fit; the message ends with its name.
    """
    given = request.query_params
    for name in shape.__struct_fields__:
        if len(given.getlist(name)) > 1:
            raise ValidationError(f"Expected one value, got more - at `{name}`")
    try:
        return msgspec.convert(dict(given), shape, strict=False)
    except msgspec.ValidationError as error:
        raise ValidationError(str(error).replace("`$.", "`")) from error
