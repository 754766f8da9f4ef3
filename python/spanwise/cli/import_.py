"""`spanwise import`: bring traces in from files and databases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.cli._flags import errors_as_lines, settings_of_store
from spanwise.cli._table import printable
from spanwise.traces.bulk_import.agno_database import SPANS_TABLE, TRACES_TABLE, AgnoDatabase
from spanwise.traces.bulk_import.importer import import_spans
from spanwise.traces.bulk_import.span_file import files_in, is_sqlite

if TYPE_CHECKING:
    from spanwise.traces.bulk_import.source import Source


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.argument("data_dir", metavar="DIR")
@click.option("--traces-table", default=TRACES_TABLE, show_default=True, help="Of a database: its table of traces.")
@click.option("--spans-table", default=SPANS_TABLE, show_default=True, help="Of a database: its table of spans.")
@click.option("--schema", help="Of a PostgreSQL database: the schema of both.")
@errors_as_lines
def command(paths: tuple[str, ...], data_dir: str, traces_table: str, spans_table: str, schema: str | None) -> None:
    """Import the spans of each PATH into the data folder DIR, which is made if there is none.

    PATH is a file, or a folder of files, with spans: OTLP (protobuf or JSON, also a message a line, or messages after
    their lengths), Parquet or Arrow (as `spanwise export` writes them, or a column for each thing that is said of a
    span); gzip, zlib or zstd around OTLP and Arrow. Or it is the database of agno: a SQLite file, or an address such
    as `postgresql+psycopg://user@host/name`.

    Importing again what is there changes nothing. An import of files that was interrupted goes on where it was. No
    other process may have the folder open.
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
    click.echo(f"Spans in the store: {report.accepted:,}. Refused: {report.rejected:,}.")
    if report.resumed:
        click.echo(f"An earlier run had dealt with {report.resumed:,} of them.")
    for rejected in report.rejections:
        click.echo(printable(f"refused: {rejected.where}: {rejected.reason}"), err=True)
    if any(not rejected.count for rejected in report.rejections):
        raise click.ClickException("not everything could be read")
