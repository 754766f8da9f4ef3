"""`spanwise delete`: forget the traces that a filter matches."""

from __future__ import annotations

from pathlib import Path

import click

from spanwise.cli._flags import errors_as_lines
from spanwise.errors import ConfigurationError
from spanwise.settings import load_settings
from spanwise.traces.service import delete_traces


@click.command()
@click.argument("filter_", metavar="FILTER")
@click.argument("data_dir", required=False, metavar="[DIR]")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@errors_as_lines
def command(filter_: str, data_dir: str | None, dry_run: bool) -> None:  # noqa: FBT001  # a flag is a flag
    """Delete the traces that FILTER matches from the data folder DIR, or the one that the settings name.

    FILTER is JSON, as in a search; `{}` matches everything. No other process may have the folder open: while the
    service runs, `POST /traces/delete` does the same. `spanwise compact --purge` then takes the bytes off the disk.
    """
    settings = load_settings(code={"data_dir": data_dir} if data_dir else None)
    if not Path(settings.trace_store).exists():
        raise ConfigurationError(f"expected a data folder, found no `{settings.trace_store}`")
    count = delete_traces(settings.trace_store, filter_.encode(), dry_run=dry_run)
    click.echo(f"{count:,} traces {'would be ' if dry_run else ''}deleted.")
