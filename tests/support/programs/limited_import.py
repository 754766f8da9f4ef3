"""Reads files of unknown origin in a process with limited memory, and prints the outcome of each.

Usage: `python -m support.programs.limited_import HOW BYTES FOLDER FILE...`, where HOW is one of

- `command`: `spanwise import` into FOLDER;
- `stream`: PyArrow reads the file, and `TraceStore.import_spans` takes its reader;
- `table`: the same with a table;
- `mask`: PyArrow reads the file, and a filter takes its batches.

Each line of output is a file's name and the exit code or the name of the exception.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
from click.testing import CliRunner

from spanwise import Filter, TraceStore
from spanwise.cli import commands
from spanwise.errors import SpanwiseError

MASK = Filter.compile({"op": "CONTAINS", "key": "name", "value": "span"})


def opened(file: Path) -> Any:
    content = file.read_bytes()
    if not content.startswith(b"ARROW1"):
        return pa.ipc.open_stream(content)
    whole = pa.ipc.open_file(content)
    return pa.RecordBatchReader.from_batches(whole.schema, map(whole.get_batch, range(whole.num_record_batches)))


def read(how: str, folder: str, file: Path) -> object:
    if how == "command":
        done = CliRunner().invoke(commands, ["import", folder, str(file)])
        return done.exit_code if done.exception is None or isinstance(done.exception, SystemExit) else done.exception
    reader = opened(file)
    if how == "mask":
        return [len(MASK.mask(batch)) for batch in reader]
    store = TraceStore.open(folder)
    try:
        return store.import_spans(reader if how == "stream" else reader.read_all())
    finally:
        store.close()


def main() -> None:
    how, limit, folder, *files = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
    for name in files:
        try:
            outcome = read(how, folder, Path(name))
        except (SpanwiseError, pa.ArrowException, OSError) as error:
            outcome = type(error).__name__
        sys.stdout.write(f"{Path(name).name} {outcome}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
