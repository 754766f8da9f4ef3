"""Measures the spans per second that `spanwise import` imports from each format, and the share of reading the file.

Run it by hand: `python benches/service/imports.py`. Every round imports each file into a new folder, in its own
process. With `--beside PATH` the packages of several trees take turns, to compare engines in one run. The read-only
measurement encodes the spans of a file and imports none.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.ipc
from made_up_exports import FORMATS, traces

ROUNDS = 5
TRACES = 25_000
_PACKAGE = Path(__file__).parents[2] / "python"
# Reads a file (`-`), or imports it into a folder. Prints seconds, processor seconds and spans.
_PROGRAM = """
import sys, time
from pathlib import Path
from spanwise.settings import Settings
from spanwise.traces.bulk_import.agno_database import AgnoDatabase
from spanwise.traces.bulk_import.importer import import_spans
from spanwise.traces.bulk_import.span_file import SpanFile, is_sqlite

path, folder = Path(sys.argv[1]), sys.argv[2]
source = AgnoDatabase(f"sqlite:///{path}") if is_sqlite(path) else SpanFile(path)
settings = Settings(data_dir=folder)
began, used = time.perf_counter(), time.process_time()
if folder == "-":
    spans = sum(batch.num_rows for batch in source.batches(lambda _: None))
else:
    report = import_spans(settings, [source], lambda _: None)
    assert report.rejected == 0, report.rejections
    spans = report.accepted
print(time.perf_counter() - began, time.process_time() - used, spans)
"""
say = sys.stdout.write


def spans_stored(folder: Path, package: Path) -> int:
    """Returns the number of spans in a data folder."""
    file = folder / "stored"
    command = [sys.executable, "-m", "spanwise", "export", str(folder), "--format", "arrow", "-o", str(file)]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(package)}, capture_output=True, check=True)
    with pa.memory_map(str(file)) as stored:
        return sum(batch.num_rows for batch in pa.ipc.open_stream(stored))


def timed(path: Path, folder: Path | None, package: Path) -> tuple[float, float, int]:
    """Reads a file, or imports it into `folder`. Returns seconds, processor seconds and spans."""
    command = [sys.executable, "-c", _PROGRAM, str(path), "-" if folder is None else str(folder)]
    environment = os.environ | {"PYTHONPATH": str(package)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seconds, processor, spans = done.stdout.split()
    return float(seconds), float(processor), int(spans)


def check(files: dict[str, Path], packages: list[Path], spans: int) -> None:
    """Asserts that an import stores every span of every file."""
    for package in packages:
        for name, path in files.items():
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                _, _, accepted = timed(path, Path(folder) / "data", package)
                stored = spans_stored(Path(folder) / "data", package)
            assert (accepted, stored) == (spans, spans), f"{name}: {accepted} imported, {stored} stored, of {spans}"


def measure(files: dict[str, Path], packages: list[Path], rounds: int, spans: int) -> None:
    """Prints the times of reading and importing by format and package."""
    taken: dict[tuple[str, Path, bool], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for name, path in files.items():
            for package in packages:
                for is_import in (False, True):
                    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                        data = Path(folder) / "data" if is_import else None
                        seconds, processor, _ = timed(path, data, package)
                    taken.setdefault((name, package, is_import), []).append((seconds, processor))
    say("format            MB | read: spans/s  processor us/span | import: spans/s  processor us/span  tree\n")
    for name, path in files.items():
        for package in packages:
            row = f"{name:16} {path.stat().st_size / 1e6:4.0f} |"
            for is_import in (False, True):
                seconds, processor = (median(each) for each in zip(*taken[name, package, is_import], strict=True))
                row += f" {spans / seconds:13,.0f} {processor / spans * 1e6:18.1f} |"
            say(f"{row} {package}\n")


def main() -> None:
    """Creates the files, checks the imports, measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", help=f"of {', '.join(FORMATS)}; all by default")
    parser.add_argument("--traces", type=int, default=TRACES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--beside", type=Path, action="append", default=[], help="a folder that holds `spanwise`")
    parser.add_argument("--folder", type=Path, help="where the files are made, or were")
    arguments = parser.parse_args()
    packages = [*arguments.beside, _PACKAGE]
    made_up = list(traces(arguments.traces))
    spans = sum(map(len, made_up))
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        files = {name: folder / f"{arguments.traces}-{name}" for name in arguments.formats or FORMATS}
        for name, path in files.items():
            began = time.monotonic()
            if not path.exists():
                FORMATS[name](path, made_up)
                say(f"{name} was written in {time.monotonic() - began:.0f} s\n")
        del made_up
        load = f"load before it began: {os.getloadavg()[0]:.1f}; cores: {os.cpu_count()}"
        say(f"{arguments.traces:,} traces, {spans:,} spans; {load}; medians of {arguments.rounds}\n")
        check(files, packages, spans)
        measure(files, packages, arguments.rounds, spans)


if __name__ == "__main__":
    main()
