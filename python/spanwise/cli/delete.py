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
    count = delete_traces(existing_store(data_dir), filter_.encode(), dry_run=dry_run)
    click.echo(f"{count:,} traces {'would be ' if dry_run else ''}deleted.")


def existing_store(data_dir: str | None) -> str:
    """Returns where the traces of the data folder are: of `data_dir`, or of the one that the settings name.

    Raises:
        ConfigurationError: there are none, and none shall be created by the way.
    """
    store = load_settings(code={"data_dir": data_dir} if data_dir else None).trace_store
    if not Path(store).exists():
        raise ConfigurationError(f"expected traces in `{store}`, found no such folder")
    return store
