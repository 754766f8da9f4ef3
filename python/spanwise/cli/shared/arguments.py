"""The arguments that commands share. FOLDER always comes first."""

from __future__ import annotations

import click

from spanwise.strict_json import quote_hint

EVERYTHING = "{}"
"""The filter that matches every trace."""


def folder_and_filter(given: tuple[str, ...], *, default: str | None = EVERYTHING) -> tuple[str | None, str]:
    """Returns the data folder and the filter of `[FOLDER] [FILTER]`. A filter begins with a brace.

    Args:
        given: the arguments.
        default: the filter if it is missing; None if it is required.

    Raises:
        UsageError: an argument is invalid, or in the wrong order.
    """
    folders = [text for text in given if not _is_filter(text)]
    filters = [text for text in given if _is_filter(text)]
    for text in filters:
        if hint := quote_hint(text):
            raise click.UsageError(f"expected FILTER as JSON: {hint}", _context())
    if len(folders) > 1:
        raise click.UsageError(f"expected FILTER as JSON, such as '{EVERYTHING}', got `{folders[1]}`", _context())
    if len(filters) > 1:
        raise click.UsageError(f"expected one FILTER, got another: {filters[1]}", _context())
    if folders and filters and given.index(folders[0]) > given.index(filters[0]):
        raise click.UsageError(f"expected FOLDER before FILTER: `{_path()} {folders[0]} '{filters[0]}'`", _context())
    if not filters and default is None:
        raise click.UsageError(f"missing FILTER (JSON); use '{EVERYTHING}' to match every trace", _context())
    return (folders[0] if folders else None), (filters[0] if filters else str(default))


def _is_filter(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


def _context() -> click.Context:
    return click.get_current_context()


def _path() -> str:
    return _context().command_path
