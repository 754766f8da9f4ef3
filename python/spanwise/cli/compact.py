"""`spanwise compact`: merges segments, and erases deleted traces from disk."""

from __future__ import annotations

import click

from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, settings_of_store
from spanwise.traces.admin import compact_store


@click.command()
@click.argument("data_dir", required=False, metavar="[DIR]")
@click.option("--purge", is_flag=True, help="Erase all deleted traces from disk.")
@db_id_flag
@errors_as_lines
def command(data_dir: str | None, db_id: str | None, purge: bool) -> None:  # noqa: FBT001  # a flag is a flag
    """Merge the segments of a trace store.

    Merges the segments in the data folder DIR, by default the configured one. A running service merges segments by
    itself, but does not purge. No other process may have the folder open.
    """
    compact_store(settings_of_store(data_dir, db_id), purge=purge)
