"""What a bench is to do, and where its files are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.results import Results
    from spanwise.bench.shape import Shape


class Effort(NamedTuple):
    """How much is measured.

    Attributes:
        runs: timed runs of each query and engine, at most.
        query_seconds: when so long was spent on a query, no further run begins.
        ingest_seconds: how long spans are sent, and searches are timed while they are.
        peers: the names of the engines beside Spanwise.
    """

    runs: int
    query_seconds: float
    ingest_seconds: float
    peers: tuple[str, ...]


class Plan(NamedTuple):
    """One bench: the data set, the effort, where everything is kept, and whom to tell how it goes."""

    shape: Shape
    effort: Effort
    target: Path
    results: Results
    say: Callable[[str], None]

    @property
    def folder(self) -> Path:
        """Returns the folder of the data set: its store, its rows, its results."""
        return self.target / self.shape.folder

    @property
    def command(self) -> str:
        """Returns the command that measures the same."""
        shape, effort = self.shape, self.effort
        what = f"--traces {shape.traces} --documents {shape.documents} --seed {shape.seed} --runs {effort.runs}"
        how_long = f"--query-seconds {effort.query_seconds:g} --ingest-seconds {effort.ingest_seconds:g}"
        return f"spanwise bench {what} {how_long}"

    @property
    def data_dir(self) -> Path:
        """Returns the data folder that `spanwise serve` takes."""
        return self.folder / "data"

    @property
    def store(self) -> Path:
        """Returns the folder of the store."""
        return self.data_dir / "traces"

    @property
    def rows_file(self) -> Path:
        """Returns the file of the rows, as the generator knows them."""
        return self.folder / "rows.arrow"

    def rows(self) -> pa.Table:
        """Returns the rows, a table of `rows.SCHEMA`, newest first, in memory; of rows without documents a sample."""
        with pa.OSFile(str(self.rows_file)) as file, pa.ipc.open_file(file) as reader:
            return reader.read_all()
