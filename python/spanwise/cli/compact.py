"""`spanwise compact`: merges segments, and erases deleted traces from disk."""

from __future__ import annotations

import time

import click
import msgspec

from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, json_flag, settings_of_store
from spanwise.cli.shared.progress import progress
from spanwise.cli.shared.words import counted, seconds, size
from spanwise.traces import Progress
from spanwise.traces.admin import ExistingStore


@click.command(cls=Command)
@click.argument("data_dir", required=False, metavar="[FOLDER]")
@click.option("--purge", is_flag=True, help="Erase all deleted traces from disk.")
@db_id_flag
@json_flag
@errors_as_lines
def command(data_dir: str | None, db_id: str | None, *, purge: bool, as_json: bool) -> None:
    """Merge the segments of a trace store.

    Merges the segments in the data folder FOLDER, by default the configured one. A running service merges segments by
    itself, but does not purge. No other process may have the folder open.
    """
    settings = settings_of_store(data_dir, db_id)
    started, watched = time.monotonic(), Progress()
    with progress("Opening", unit="objects", poll=lambda: watched.done_of_total):
        store = ExistingStore(settings, watched)
    with store:
        before = store.size()
        with progress("Merging", unit="traces", poll=lambda: watched.done_of_total):
            store.compact(purge=purge)
        after = store.size()
    if as_json:
        click.echo(msgspec.json.encode({"before": before, "after": after}))
        return
    sizes = f"{counted(before.segments, 'segment')} ({size(before.segment_bytes)})"
    merged = f"{counted(after.segments, 'segment')} ({size(after.segment_bytes)})"
    took = seconds(time.monotonic() - started)
    click.echo(f"Merged {sizes} into {merged} in {took}; {counted(after.traces, 'trace')} as before.")
    if purge:
        click.echo("No deleted data is left on disk.")
