"""`spanwise backup`: copies the traces of a data folder."""

from __future__ import annotations

import time

import click
import msgspec

from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines, json_flag
from spanwise.cli.shared.progress import progress
from spanwise.cli.shared.words import counted, seconds, size
from spanwise.settings import load_settings
from spanwise.traces import Progress
from spanwise.traces.admin import backup_store, expect_store


@click.command(cls=Command)
@click.argument("source", metavar="FOLDER")
@click.argument("target", metavar="TARGET")
@click.option(
    "--without-indexes",
    is_flag=True,
    help="Leave the indexes in a bucket out: the copy is smaller, and makes them again once it is served.",
)
@json_flag
@errors_as_lines
def command(source: str, target: str, *, without_indexes: bool, as_json: bool) -> None:
    """Back up the traces of a data folder.

    Copies the traces in the data folder FOLDER, which may be in use, to the new data folder TARGET. Both may also be
    the URL of a bucket. The copy contains every span that was acknowledged before the command started. To restore a
    backup, serve TARGET.
    """
    settings, copy = (load_settings(code={"data_dir": folder, "stores": {}}) for folder in (source, target))
    expect_store(settings)
    started = time.monotonic()
    watched = Progress()
    with progress("Copying", poll=lambda: watched.done_of_total):
        copied = backup_store(settings.trace_store, copy.trace_store, watched, indexes=not without_indexes)
    if as_json:
        click.echo(msgspec.json.encode(copied))
        return
    parts = f"{counted(copied['segments'], 'segment')} and {counted(copied['wal_objects'], 'log object')}"
    click.echo(f"Copied {size(copied['bytes'])}, {parts}, in {seconds(time.monotonic() - started)}.")
    click.echo(f"`spanwise serve --data-dir {target}` serves the copy.")
