"""`spanwise delete`: deletes the traces that match a filter."""

from __future__ import annotations

import click

from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, settings_of_store
from spanwise.traces.admin import delete_traces


@click.command()
@click.argument("source", metavar="FILTER")
@click.argument("data_dir", required=False, metavar="[DIR]")
@click.option("--dry-run", is_flag=True, help="Count the traces without deleting them.")
@db_id_flag
@errors_as_lines
def command(source: str, data_dir: str | None, db_id: str | None, dry_run: bool) -> None:  # noqa: FBT001  # a flag is a flag
    """Delete the traces that match a filter.

    Deletes the traces that match FILTER from the data folder DIR, by default the configured one. FILTER is JSON, as
    in a search; `{}` matches everything. No other process may have the folder open; on a running service, use `POST
    /traces/delete`. Deleted traces are never returned again, but stay on disk until their segments are merged; to
    erase them at once, run `spanwise compact --purge`.
    """
    settings = settings_of_store(data_dir, db_id)
    count = delete_traces(settings, source.encode(), dry_run=dry_run)
    click.echo(f"Traces {'to delete' if dry_run else 'deleted'}: {count:,}")
