"""`spanwise check`: verifies every object of a trace store, and every row of the database of runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import msgspec

from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, json_flag, settings_of_store
from spanwise.cli.shared.progress import progress
from spanwise.cli.shared.words import counted, seconds, size
from spanwise.database.integrity import check_file
from spanwise.traces import Progress
from spanwise.traces.admin import check_store, expect_store


@click.command(cls=Command)
@click.argument("data_dir", required=False, metavar="[FOLDER]")
@db_id_flag
@json_flag
@errors_as_lines
def command(data_dir: str | None, db_id: str | None, *, as_json: bool) -> None:
    """Verify that all stored data is undamaged.

    Reads every object of the store in the data folder FOLDER, by default the configured one, and every row of its
    database of sessions and runs. Exits with code 1 if anything is damaged.
    """
    settings = settings_of_store(data_dir, db_id)
    expect_store(settings)
    started = time.monotonic()
    watched = Progress()
    with progress("Checking", poll=lambda: watched.done_of_total):
        report = check_store(settings.trace_store, watched)
        database = Path(settings.database)
        if database.is_file():
            report["database_rows"] = check_file(database)
    if as_json:
        click.echo(msgspec.json.encode(report))
        return
    for line in _sentences(report, seconds(time.monotonic() - started)):
        click.echo(line)


def _sentences(report: dict[str, Any], took: str) -> list[str]:
    """Returns the report of a check as sentences."""
    objects = f"{counted(report['segments'], 'segment')} and {counted(report['wal_objects'], 'log object')}"
    lines = [f"Sound: {size(report['bytes'])} in {objects} are as they were written, read in {took}."]
    lines.append(f"The segments hold {counted(report['sealed_traces'], 'trace')}.")
    if report["hidden_rows"]:
        lines.append(
            f"{counted(report['hidden_rows'], 'deleted row')} still on disk: `spanwise compact --purge` erases them."
        )
    if "database_rows" in report:
        lines.append(f"Sound: {counted(sum(report['database_rows'].values()), 'row')} of sessions and runs.")
    if report["other_indexes"]:
        lines.append(f"{counted(len(report['other_indexes']), 'index file')} will be built anew when the store opens.")
    segments = (
        f"Quarantined: segment `{each['segment']}`, {counted(each['traces'], 'trace')}: {each['fault']}"
        for each in report["aside"]
    )
    return [*lines, *segments, *(f"Quarantined: `{each['object']}`: {each['fault']}" for each in report["wal_aside"])]
