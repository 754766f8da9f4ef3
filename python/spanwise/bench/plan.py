"""What a benchmark measures, and where its files are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.data.shape import Shape
    from spanwise.bench.results import Results


class Effort(NamedTuple):
    """How long to measure, and against which engines.

    Attributes:
        runs: the maximum number of timed runs per query and engine.
        query_seconds: the time limit per query; no further run starts after it.
        ingest_seconds: how long spans are sent, and searches are timed meanwhile.
        peers: the names of the other engines.
        questions: how many generated questions are asked.
    """

    runs: int
    query_seconds: float
    ingest_seconds: float
    peers: tuple[str, ...]
    questions: int = 60


class Plan(NamedTuple):
    """One benchmark: the data set, the effort, the target folder, the results so far, and a function for log lines."""

    shape: Shape
    effort: Effort
    target: Path
    results: Results
    log: Callable[[str], None]

    @property
    def folder(self) -> Path:
        """Returns the folder of the data set, with its store, rows and results."""
        return self.target / self.shape.folder

    @property
    def command(self) -> str:
        """Returns the command that repeats this benchmark."""
        shape, effort = self.shape, self.effort
        what = f"--traces {shape.traces} --documents {shape.documents} --seed {shape.seed} --runs {effort.runs}"
        how_long = f"--query-seconds {effort.query_seconds:g} --ingest-seconds {effort.ingest_seconds:g}"
        return f"spanwise bench {what} {how_long} --questions {effort.questions}"

    @property
    def data_dir(self) -> Path:
        """Returns the data folder for `spanwise serve`."""
        return self.folder / "data"

    @property
    def store(self) -> Path:
        """Returns the folder of the store."""
        return self.data_dir / "traces"

    @property
    def rows_file(self) -> Path:
        """Returns the file of the generated rows."""
        return self.folder / "rows.arrow"

    def rows(self) -> pa.Table:
        """Reads the rows as a table of `rows.SCHEMA`, newest first; a sample of them if they have no documents."""
        with pa.OSFile(str(self.rows_file)) as file, pa.ipc.open_file(file) as reader:
            return reader.read_all()
