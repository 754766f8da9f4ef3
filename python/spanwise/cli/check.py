"""`spanwise check`: read a whole data folder and say what is wrong with it."""

from __future__ import annotations

import click

from spanwise.cli._flags import errors_as_lines
from spanwise.settings import load_settings
from spanwise.traces.service import check_store


@click.command()
@click.argument("data_dir", required=False, metavar="[DIR]")
@errors_as_lines
def command(data_dir: str | None) -> None:
    """Check the data folder DIR, or the one that the settings name. Exit code 1 on damage."""
    settings = load_settings(code={"data_dir": data_dir} if data_dir else None)
    click.echo(check_store(settings.trace_store))
