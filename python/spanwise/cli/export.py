"""`spanwise export`: writes traces to a file."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from spanwise.cli.shared.arguments import folder_and_filter
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines, json_flag, settings_of_store
from spanwise.cli.shared.progress import progress
from spanwise.cli.shared.words import counted, seconds, size
from spanwise.errors import ConfigurationError
from spanwise.output_file import is_standard_output, open_output
from spanwise.traces.download import FORMATS
from spanwise.traces.read_only import export_traces

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command(cls=Command)
@click.argument("given", nargs=-1, metavar="[FOLDER] [FILTER]")
@click.option(
    "--format",
    "file_format",
    default="parquet",
    show_default=True,
    type=click.Choice(tuple(FORMATS)),
    help="Format of the file.",
)
@click.option("-o", "--output", required=True, metavar="FILE", help="File to write; `-` for standard output.")
@json_flag
@errors_as_lines
def command(given: tuple[str, ...], file_format: str, output: str, *, as_json: bool) -> None:
    """Export traces to a file.

    Exports the traces that match FILTER, by default all, from the data folder FOLDER, by default the configured one.
    Parquet and Arrow files have a row per span, an OTLP file is one message with all spans; `spanwise import` reads all
    three. NDJSON has one trace per line, with its span tree. The folder may be in use: the file contains a consistent
    snapshot of the store. A regular FILE is replaced once the export is complete. A device, a FIFO or a listening
    socket is written to directly.
    """
    folder, source = folder_and_filter(given)
    started, settings = time.monotonic(), settings_of_store(folder, None)
    is_piped = output == "-" or is_standard_output(Path(output))
    with _written(Path(output)) if not is_piped else _standard_output() as file:
        download = export_traces(settings, source.encode(), file_format)
        with progress("Exporting", unit="traces", poll=lambda: download.progress[1:]):
            written = sum(file.write(chunk) for chunk in download)
    traces = download.progress[0]
    if as_json:
        click.echo(msgspec.json.encode({"traces": traces, "bytes": written}), err=is_piped)
    elif not is_piped:
        took = seconds(time.monotonic() - started)
        click.echo(f"Exported {counted(traces, 'trace')} to {output}, {size(written)}, in {took}.")


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """Opens a file as `open_output` does.

    Raises:
        ConfigurationError: it cannot be written.
    """
    try:
        with open_output(path) as file:
            yield file
    except OSError as error:
        raise ConfigurationError(f"cannot write `{path}`: {error.strerror}; choose another file with `-o`") from error
