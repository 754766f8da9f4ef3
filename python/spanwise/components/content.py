"""Converts the return values of components to JSON values."""

from __future__ import annotations

from typing import Any

import msgspec

from spanwise.errors import ComponentError


def text_of(content: object) -> str | None:
    """Returns content as text: strings and None unchanged, everything else as JSON.

    Raises:
        ComponentError: it cannot be represented as JSON.
    """
    if content is None or isinstance(content, str):
        return content
    return _json_text(content)


def plain(content: object) -> Any:  # noqa: ANN401  # any JSON value
    """Returns content as plain values: text, numbers, lists and dicts.

    Raises:
        ComponentError: it cannot be represented as JSON.
    """
    return content if content is None or isinstance(content, str) else msgspec.json.decode(_json_text(content))


def content_type_of(content: object) -> str | None:
    """Returns the type name of content for the member `content_type`; None for None."""
    return None if content is None else type(content).__name__


def _json_text(content: object) -> str:
    try:
        return msgspec.json.encode(content).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ComponentError(f"a component returned a value that JSON cannot represent: {error}") from error
