"""The table of settings as flags, and errors as one line."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from spanwise.errors import SpanwiseError
from spanwise.settings import CONFIG_VARIABLE, TABLE, choices, is_switch

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def settings_flags(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Gives `command` a flag for every setting, and `--config`."""
    for setting in reversed(TABLE.values()):
        words = choices(setting)
        is_flag = is_switch(setting)
        command = click.option(
            setting.flag,
            setting.name,
            is_flag=is_flag,
            flag_value="true" if is_flag else None,
            help=f"{setting.description} [{setting.variable}; default: {setting.default}]",
            metavar="|".join(words) if words else None,
        )(command)
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"A TOML file with settings. [{CONFIG_VARIABLE}]",
    )(command)


def errors_as_lines(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Lets `command` end with one line and exit code 1 on what Spanwise refuses."""

    @wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except SpanwiseError as error:
            raise click.ClickException(str(error)) from error

    return wrapped
