"""Command line flags for the settings, and error handling that all commands share."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click
import rich_click
from msgspec.structs import replace
from rich_click import RichOption

from spanwise.errors import ConfigurationError, SpanwiseError
from spanwise.settings import CONFIG_VARIABLE, TABLE, choices, is_number, is_switch, is_table, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.settings import Setting, Settings

db_id_flag = click.option("--db-id", help="The name of the trace store, if there are several; the first by default.")
json_flag = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for programs.")

FIRST = (
    "data_dir",
    "host",
    "port",
    "authorization",
    "log_level",
    "otlp_grpc_port",
    "otlp_http_port",
    "retain_seconds",
)
"""The settings that `--help` shows. With `--config` and `--help-all` they are ten flags; `--help-all` shows all."""
MOST_USED = "Most used"
"""The group of those flags. Other flags are in the groups of their settings."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_AnyCommand = TypeVar("_AnyCommand", bound="Callable[..., Any]")


def settings_flags(command: _AnyCommand) -> _AnyCommand:
    """Adds a flag for every setting to `command`, and `--config` and `--help-all`."""
    config = click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"Read settings from this TOML file. [{CONFIG_VARIABLE}]",
        cls=RichOption,
        panel=MOST_USED,
    )
    every = click.option(
        "--help-all",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Show the flags of all settings.",
        cls=RichOption,
        panel=MOST_USED,
    )
    flags = [_settings_flag(setting, setting.flag) for setting in reversed(TABLE.values()) if setting.flag]
    first = rich_click.option_panel(MOST_USED, options=[*_flags_first(), "--config", "--help-all", "--help"])
    for decorate in (every, config, *flags, first):
        command = decorate(command)
    return command


def _flags_first() -> list[str]:
    return [str(TABLE[name].flag) for name in FIRST]


def _settings_flag(setting: Setting, flag: str) -> Callable[[_AnyCommand], _AnyCommand]:
    values = choices(setting)
    is_flag = is_switch(setting)
    allowed = f" One of {', '.join(values)}." if values else ""
    default = "" if is_flag else f" [default: {setting.default}]"
    return click.option(
        flag,
        setting.name,
        is_flag=is_flag,
        flag_value=str(setting.default != "true").lower() if is_flag else None,
        multiple=is_table(setting),
        help=setting.description + allowed + default,
        metavar="NAME=VALUE" if is_table(setting) else "N" if is_number(setting) else "WORD" if values else None,
        cls=RichOption,
        panel=MOST_USED if setting.name in FIRST else setting.group,
        hidden=setting.name not in FIRST,
    )


def _show_all(ctx: click.Context, _option: click.Parameter, is_given: bool) -> None:  # noqa: FBT001  # click's signature
    if not is_given or ctx.resilient_parsing:
        return
    for parameter in ctx.command.params:
        if isinstance(parameter, click.Option):
            parameter.hidden = False
    click.echo(ctx.get_help(), color=ctx.color)
    ctx.exit()


def settings_of_store(data_dir: str | None, db_id: str | None) -> Settings:
    """Returns the settings for a command that works on one store.

    Args:
        data_dir: the data folder; by default the stores of the settings.
        db_id: the name of the store; by default the first one.

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
    """Makes `command` print errors of Spanwise as one line and exit with code 1."""

    @wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except SpanwiseError as error:
            raise click.ClickException(str(error)) from error

    return wrapped
