"""Command line flags for the settings, and error handling that all commands share."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click
from msgspec.structs import replace

from spanwise.errors import ConfigurationError, SpanwiseError
from spanwise.settings import CONFIG_VARIABLE, TABLE, choices, is_switch, is_table, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.settings import Settings

db_id_flag = click.option("--db-id", help="The name of the trace store, if there are several; the first by default.")

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def settings_flags(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Adds a flag for every setting to `command`, and `--config`."""
    for setting in reversed(TABLE.values()):
        if setting.flag is None:
            continue
        values = choices(setting)
        is_flag = is_switch(setting)
        command = click.option(
            setting.flag,
            setting.name,
            is_flag=is_flag,
            flag_value=str(setting.default != "true").lower() if is_flag else None,
            multiple=is_table(setting),
            help=f"{setting.description} [{setting.variable}; default: {setting.default}]",
            metavar="|".join(values) if values else "NAME=VALUE" if is_table(setting) else None,
        )(command)
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"Read settings from this TOML file. [{CONFIG_VARIABLE}]",
    )(command)


def settings_of_store(data_dir: str | None, db_id: str | None) -> Settings:
    """Returns the settings for a command that works on one store.

    Args:
        data_dir: the data folder; by default the stores given by the settings are used.
        db_id: the name of the store; the first by default.

    Raises:
        ConfigurationError: there is no store of that name, or a setting is invalid.
    """
    settings = load_settings(code={"data_dir": data_dir, "stores": {}} if data_dir else None)
    if db_id is None:
        return settings
    if db_id not in settings.trace_stores:
        names = ", ".join(settings.trace_stores)
        raise ConfigurationError(f"there is no trace store named `{db_id}`; expected one of {names}")
    return replace(settings, stores={db_id: settings.trace_stores[db_id]})


def errors_as_lines(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Makes `command` print errors of Spanwise as one line, and exit with code 1."""

    @wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except SpanwiseError as error:
            raise click.ClickException(str(error)) from error

    return wrapped
