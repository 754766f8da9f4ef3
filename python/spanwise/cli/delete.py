"""`spanwise delete`: deletes the traces that match a filter."""

from __future__ import annotations

import sys

import click

from spanwise.cli.shared.arguments import folder_and_filter
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, json_flag, settings_of_store
from spanwise.cli.shared.progress import progress
from spanwise.cli.shared.words import counted
from spanwise.traces import Progress
from spanwise.traces.admin import ExistingStore, expect_filter


@click.command(cls=Command)
@click.argument("given", nargs=-1, metavar="[FOLDER] FILTER")
@click.option("--dry-run", is_flag=True, help="Count the traces without deleting them.")
@click.option("--yes", is_flag=True, help="Delete without asking, even if that is every trace.")
@db_id_flag
@json_flag
@errors_as_lines
def command(given: tuple[str, ...], db_id: str | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete the traces that match a filter.

    Deletes the traces that match FILTER from the data folder FOLDER, by default the configured one. FILTER is JSON, as
    in a search; `{}` matches every trace and asks for confirmation. No other process may have the folder open; on a
    running service, use `POST /traces/delete`. Deleted traces are never returned again, but stay on disk until their
    segments are merged. To erase them at once, run `spanwise compact --purge`.
    """
    folder, source = folder_and_filter(given, default=None)
    expect_filter(source.encode())
    settings = settings_of_store(folder, db_id)
    watched = Progress()
    with progress("Opening", unit="objects", poll=lambda: watched.done_of_total):
        store = ExistingStore(settings, watched)
    with store:
        with progress("Counting", unit="traces", poll=lambda: watched.done_of_total):
            count = store.count(source.encode())
        if not dry_run and count:
            if count == store.size().traces and not yes:
                _ask(count, settings.trace_store)
            with progress("Deleting", unit="traces", poll=lambda: watched.done_of_total):
                count = store.delete(source.encode())
    if as_json:
        click.echo(f'{{"{"matching" if dry_run else "deleted"}": {count}}}')
    elif dry_run:
        click.echo(f"{counted(count, 'trace')} would be deleted.")
    else:
        click.echo(f"Deleted {counted(count, 'trace')}.")


def _ask(count: int, store: str) -> None:
    """Asks for confirmation before every trace is deleted.

    Raises:
        ClickException: there is no terminal to ask on.
        Abort: the answer is no.
    """
    everything = f"all {count:,} traces" if count > 1 else "the only trace"
    if not sys.stdin.isatty():
        raise click.ClickException(f"this deletes {everything} of `{store}`: pass `--yes` to confirm")
    click.confirm(f"Delete {everything} of `{store}`?", abort=True, err=True)
