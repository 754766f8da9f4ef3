"""`spanwise backup`: copy the traces of a data folder, in use or not, into another."""

from __future__ import annotations

import click

from spanwise.cli._flags import errors_as_lines
from spanwise.settings import load_settings
from spanwise.traces.admin import backup_store


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DEST")
@errors_as_lines
def command(source: str, target: str) -> None:
    """Copy the traces of the data folder SRC, which may be in use, into the new data folder DEST.

    Either may be the address of a bucket. Everything acknowledged before the command began is in the copy. To
    restore, serve DEST.
    """
    stores = [load_settings(code={"data_dir": folder, "stores": {}}).trace_store for folder in (source, target)]
    click.echo(backup_store(*stores))
