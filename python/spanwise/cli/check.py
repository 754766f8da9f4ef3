"""`spanwise check`: read a whole data folder and say what is wrong with it."""

from __future__ import annotations

import click

from spanwise.cli._flags import db_id_flag, errors_as_lines, settings_of_store
from spanwise.traces.admin import check_store


@click.command()
@click.argument("data_dir", required=False, metavar="[DIR]")
@db_id_flag
@errors_as_lines
def command(data_dir: str | None, db_id: str | None) -> None:
    """Check the data folder DIR, or the one that the settings name. Exit code 1 on damage."""
    settings = settings_of_store(data_dir, db_id)
    click.echo(check_store(settings.trace_store))
