"""`spanwise export`: writes traces to a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.cli.shared.flags import errors_as_lines, settings_of_store
from spanwise.errors import ConfigurationError
from spanwise.traces.download import FORMATS
from spanwise.traces.read_only import export_traces

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command()
@click.argument("data_dir", metavar="DIR")
@click.argument("source", default="{}", metavar="[FILTER]")
@click.option(
    "--format",
    "file_format",
    default="parquet",
    show_default=True,
    type=click.Choice(tuple(FORMATS)),
    help="Format of the file.",
)
@click.option("-o", "--output", required=True, metavar="FILE", help="File to write; `-` for standard output.")
@errors_as_lines
def command(data_dir: str, source: str, file_format: str, output: str) -> None:
    """Export traces to a file.

    Exports the traces that match FILTER, by default all, from the data folder DIR. Parquet and Arrow files have a
    row per span, an OTLP file is one message with all spans; `spanwise import` reads all three. NDJSON has one
    trace per line, with its span tree. The folder may be in use: the file contains a consistent snapshot of the
    store.
    """
    chunks = export_traces(settings_of_store(data_dir, None), source.encode(), file_format)
    if output == "-":
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    click.echo(f"Bytes written: {_write(Path(output), chunks):,}")


def _write(path: Path, chunks: Iterator[bytes]) -> int:
    """Writes a file under a temporary name, renames it when it is complete, and returns its size."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            size = sum(file.write(chunk) for chunk in chunks)
        unfinished.replace(path)
    except OSError as error:
        raise ConfigurationError(f"cannot write `{path}`: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return size
