"""`spanwise backup`: copies the traces of a data folder."""

from __future__ import annotations

import click

from spanwise.cli.shared.flags import errors_as_lines
from spanwise.settings import load_settings
from spanwise.traces.admin import backup_store


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DEST")
@errors_as_lines
def command(source: str, target: str) -> None:
    """Back up the traces of a data folder.

    Copies the traces in the data folder SRC, which may be in use, to the new data folder DEST. Both may also be the
    URL of a bucket. The copy contains every span that was acknowledged before the command started. To restore a
    backup, serve DEST.
    """
    stores = [load_settings(code={"data_dir": folder, "stores": {}}).trace_store for folder in (source, target)]
    click.echo(backup_store(*stores))
