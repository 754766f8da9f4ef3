"""`spanwise export`: take traces out, into a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.cli._flags import errors_as_lines, settings_of_store
from spanwise.errors import ConfigurationError
from spanwise.traces.download import FORMATS
from spanwise.traces.read_only import export_traces

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command()
@click.argument("data_dir", metavar="DIR")
@click.argument("source", default="{}", metavar="[FILTER]")
@click.option(
    "--format", "form", default="parquet", show_default=True, type=click.Choice(tuple(FORMATS)), help="Of the file."
)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write; `-` is standard output.")
@errors_as_lines
def command(data_dir: str, source: str, form: str, output: str) -> None:
    """Export the traces that FILTER matches, or all, from the data folder DIR, which may be in use.

    Parquet and Arrow hold spans in columns, OTLP is one message of them: all three can be imported. NDJSON is for
    reading: a trace a line, with its tree. The file shows one state of the store.
    """
    pieces = export_traces(settings_of_store(data_dir, None), source.encode(), form)
    if output == "-":
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    click.echo(f"Bytes written: {_write(Path(output), pieces):,}")


def _write(path: Path, pieces: Iterator[bytes]) -> int:
    """Returns how much was written. The file has its name only once it is whole."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            written = sum(file.write(piece) for piece in pieces)
        unfinished.replace(path)
    except OSError as error:
        raise ConfigurationError(f"cannot write `{path}`: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return written
