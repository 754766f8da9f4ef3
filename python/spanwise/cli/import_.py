"""`spanwise import`: imports spans from files and databases."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines, json_flag, settings_of_store
from spanwise.cli.shared.progress import BYTES, progress
from spanwise.cli.shared.table import printable
from spanwise.cli.shared.words import counted, seconds
from spanwise.traces.bulk_import.agno_database import SPANS_TABLE, TRACES_TABLE, AgnoDatabase
from spanwise.traces.bulk_import.importer import import_spans
from spanwise.traces.bulk_import.span_file import SpanFile, files_in, is_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.traces.bulk_import.importer import ImportReport
    from spanwise.traces.bulk_import.source import Source


@click.command(cls=Command)
@click.argument("data_dir", metavar="FOLDER")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--traces-table", default=TRACES_TABLE, show_default=True, help="Table of traces in a database.")
@click.option("--spans-table", default=SPANS_TABLE, show_default=True, help="Table of spans in a database.")
@click.option("--schema", help="Schema of both tables in a PostgreSQL database.")
@json_flag
@errors_as_lines
def command(data_dir: str, paths: tuple[str, ...], *, as_json: bool, **tables: str | None) -> None:
    """Import spans from files and databases.

    Imports the spans in each PATH into the data folder FOLDER, which is created if it does not exist. PATH is a file
    or a folder of files: OTLP (protobuf or JSON, one message per file, per line, or length-delimited), Parquet or
    Arrow (as written by `spanwise export`, or with one column per span field). All but Parquet may be compressed with
    gzip, zlib or zstd. PATH can also be a database of agno: a SQLite file, or a URL such as
    `postgresql+psycopg://user@host/name`.

    Importing the same spans twice has no effect. An interrupted import of files resumes at its last position. No other
    process may have the folder open. Exits with code 1 if an input could not be read, or no spans were found.
    """
    if Path(data_dir).is_file():
        raise click.UsageError(
            f"expected FOLDER, the data folder to import into, got the file `{data_dir}`", click.get_current_context()
        )
    started = time.monotonic()

    def database(url: str) -> AgnoDatabase:
        traces, spans = tables["traces_table"] or TRACES_TABLE, tables["spans_table"] or SPANS_TABLE
        return AgnoDatabase(url, traces, spans, tables["schema"])

    sources = _sources(paths, database)
    settings = settings_of_store(data_dir, None)
    unit = BYTES if all(isinstance(source, SpanFile) for source in sources) else "parts"
    with progress("Importing", sum(source.size for source in sources), unit) as meter:
        report = import_spans(settings, sources, meter.advance)
    _show(report, data_dir, seconds(time.monotonic() - started), as_json=as_json)
    if report.without_spans or any(not rejection.count for rejection in report.rejections):
        raise click.ClickException("some input could not be read")
    if not report.accepted:
        raise click.ClickException(
            f"found no spans in {', '.join(map(printable, paths))}; `spanwise import --help` lists the formats"
        )


def _sources(paths: tuple[str, ...], database: Callable[[str], AgnoDatabase]) -> list[Source]:
    sources: list[Source] = []
    for path in paths:
        if "://" in path:
            sources.append(database(path))
        elif is_sqlite(Path(path)):
            sources.append(database(f"sqlite:///{path}"))
        else:
            sources.extend(files_in(Path(path)))
    return sources


def _show(report: ImportReport, data_dir: str, took: str, *, as_json: bool) -> None:
    if as_json:
        rejections = [{"where": each.where, "reason": each.reason, "count": each.count} for each in report.rejections]
        numbers = {"accepted": report.accepted, "rejected": report.rejected, "resumed": report.resumed}
        click.echo(msgspec.json.encode({**numbers, "rejections": rejections, "skipped": report.skipped}))
        return
    rejected = " and ".join(counted(count, unit) for unit, count in report.rejected_by_unit.items())
    click.echo(
        f"Imported {counted(report.accepted, 'span')} into {data_dir} in {took}{rejected and f'; rejected {rejected}'}."
    )
    if report.resumed:
        click.echo(f"{report.resumed:,} of them were imported by an earlier, interrupted run.")
    for rejection in report.rejections:
        click.echo(printable(f"rejected: {rejection.where}: {rejection.reason}"), err=True)
    for source, signals in report.skipped.items():
        messages = ", ".join(f"{counted(count, 'message')} of {signal}" for signal, count in signals.items())
        click.echo(printable(f"skipped: {source}: {messages}"), err=True)
