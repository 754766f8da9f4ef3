"""`spanwise import`: imports spans from files and databases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.cli.shared.flags import errors_as_lines, settings_of_store
from spanwise.cli.shared.table import printable
from spanwise.traces.bulk_import.agno_database import SPANS_TABLE, TRACES_TABLE, AgnoDatabase
from spanwise.traces.bulk_import.importer import import_spans
from spanwise.traces.bulk_import.span_file import files_in, is_sqlite

if TYPE_CHECKING:
    from spanwise.traces.bulk_import.source import Source


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.argument("data_dir", metavar="DIR")
@click.option("--traces-table", default=TRACES_TABLE, show_default=True, help="Table of traces in a database.")
@click.option("--spans-table", default=SPANS_TABLE, show_default=True, help="Table of spans in a database.")
@click.option("--schema", help="Schema of both tables in a PostgreSQL database.")
@errors_as_lines
def command(paths: tuple[str, ...], data_dir: str, traces_table: str, spans_table: str, schema: str | None) -> None:
    """Import spans from files and databases.

    Imports the spans in each PATH into the data folder DIR, which is created if it does not exist. PATH is a file
    or a folder of files: OTLP (protobuf or JSON, one message per file, per line, or length-delimited), Parquet or
    Arrow (as written by `spanwise export`, or with one column per span field). OTLP and Arrow files may be
    compressed with gzip, zlib or zstd. PATH can also be a database of agno: a SQLite file, or a URL such as
    `postgresql+psycopg://user@host/name`.

    Importing the same spans twice has no effect. An interrupted import of files resumes where it stopped. No other
    process may have the folder open.
    """

    def database(url: str) -> AgnoDatabase:
        return AgnoDatabase(url, traces_table, spans_table, schema)

    sources: list[Source] = []
    for path in paths:
        if "://" in path:
            sources.append(database(path))
        elif is_sqlite(Path(path)):
            sources.append(database(f"sqlite:///{path}"))
        else:
            sources.extend(files_in(Path(path)))
    settings = settings_of_store(data_dir, None)
    with click.progressbar(length=sum(source.size for source in sources), label="Importing") as bar:
        report = import_spans(settings, sources, bar.update)
    click.echo(f"Accepted spans: {report.accepted:,}. Rejected: {report.rejected:,}.")
    if report.resumed:
        click.echo(f"{report.resumed:,} of them were imported by an earlier, interrupted run.")
    for rejection in report.rejections:
        click.echo(printable(f"rejected: {rejection.where}: {rejection.reason}"), err=True)
    if any(not rejection.count for rejection in report.rejections):
        raise click.ClickException("some input could not be read")
