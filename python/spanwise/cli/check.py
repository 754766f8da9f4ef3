"""`spanwise check`: verifies every object of a trace store, and every row of the database of runs."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, settings_of_store
from spanwise.database.integrity import check_file
from spanwise.traces.admin import check_store


@click.command()
@click.argument("data_dir", required=False, metavar="[DIR]")
@db_id_flag
@errors_as_lines
def command(data_dir: str | None, db_id: str | None) -> None:
    """Verify every object of a trace store, and every row of the file of sessions and runs.

    Reads the store in the data folder DIR, by default the configured one, and exits with code 1 if it is damaged.
    """
    settings = settings_of_store(data_dir, db_id)
    report = msgspec.json.decode(check_store(settings.trace_store))
    database = Path(settings.database)
    if database.is_file():
        report["database_rows"] = check_file(database)
    click.echo(msgspec.json.encode(report))
