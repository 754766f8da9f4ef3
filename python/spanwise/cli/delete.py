"""`spanwise delete`: forget the traces that a filter matches."""

from __future__ import annotations

import click

from spanwise.cli._flags import db_id_flag, errors_as_lines, settings_of_store
from spanwise.traces.admin import delete_traces


@click.command()
@click.argument("source", metavar="FILTER")
@click.argument("data_dir", required=False, metavar="[DIR]")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@db_id_flag
@errors_as_lines
def command(source: str, data_dir: str | None, db_id: str | None, dry_run: bool) -> None:  # noqa: FBT001  # a flag is a flag
    """Delete the traces that FILTER matches from the data folder DIR, or the one that the settings name.

    FILTER is JSON, as in a search; `{}` matches everything. No other process may have the folder open: while a
    service runs, `POST /traces/delete` does the same. What is deleted is in no answer any more; to take it off the
    disk too, `spanwise compact --purge`.
    """
    settings = settings_of_store(data_dir, db_id)
    count = delete_traces(settings, source.encode(), dry_run=dry_run)
    click.echo(f"Traces {'to delete' if dry_run else 'deleted'}: {count:,}")
