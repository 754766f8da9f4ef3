"""`spanwise compact`: make a store smaller, and take off the disk what was deleted."""

from __future__ import annotations

import click

from spanwise.cli._flags import db_id_flag, errors_as_lines, settings_of_store
from spanwise.traces.admin import compact_store


@click.command()
@click.argument("data_dir", required=False, metavar="[DIR]")
@click.option("--purge", is_flag=True, help="Leave nothing on disk of what was deleted.")
@db_id_flag
@errors_as_lines
def command(data_dir: str | None, db_id: str | None, purge: bool) -> None:  # noqa: FBT001  # a flag is a flag
    """Merge the segments in the data folder DIR, or in the one that the settings name.

    A service does that by itself, but for the purge. No other process may have the folder open.
    """
    compact_store(settings_of_store(data_dir, db_id), purge=purge)
