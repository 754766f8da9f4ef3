"""What was measured of one data set, kept in a JSON file beside its store: each stage writes its own part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.machine import Circumstances  # msgspec reads the types
from spanwise.bench.shape import Shape  # likewise

if TYPE_CHECKING:
    from pathlib import Path

FILE = "results.json"


class Built(msgspec.Struct):
    """The store: how long it took to fill and to compact, and its size. Bytes are those of spans as they were sent.

    Of rows without documents there is no span, and the second time is that of their indexes.
    """

    fill_seconds: float
    compact_seconds: float
    spans: int
    sent_bytes: int
    disk_bytes: int
    circumstances: Circumstances


class Checked(msgspec.Struct):
    """How many answers of each query were compared with those of DuckDB; all were equal."""

    answers: dict[str, int]
    circumstances: Circumstances


class Row(msgspec.Struct):
    """One query beside the peers. `times` are milliseconds, one for each run, by the name of the engine."""

    query: str
    title: str
    kind: str
    group_by: str
    page: int
    total: int
    times: dict[str, list[float]]


class Engines(msgspec.Struct):
    """All queries, or those that are timed already; and what each engine takes in memory with all rows: bytes."""

    rows: list[Row]
    memory: dict[str, int]
    circumstances: Circumstances
    is_complete: bool = True


class PageRow(msgspec.Struct):
    """One query over HTTP with full trees; `times` in milliseconds, `answer_bytes` the median size of an answer."""

    title: str
    limit: int
    total: int
    answer_bytes: int
    times: list[float]


class Pages(msgspec.Struct):
    """All queries over HTTP."""

    rows: list[PageRow]
    circumstances: Circumstances


class Durable(msgspec.Struct):
    """Spans over HTTP until they are on disk. `disk_bytes` is what the server had written in that time."""

    connections: int
    seconds: float
    spans: int
    sent_bytes: int
    refusals: int
    disk_bytes: int
    disk_megabytes_a_second: float
    client_cpu_seconds: float


class Busy(msgspec.Struct):
    """Searches while spans come in: times in milliseconds, idle and busy; new traces asked for, and found at once."""

    idle: list[float]
    busy: list[float]
    spans: int
    seconds: float
    refusals: int
    asked: int
    found: int


class Ingest(msgspec.Struct):
    """Both ways of ingest."""

    durable: Durable
    busy: Busy
    circumstances: Circumstances


class Opened(msgspec.Struct):
    """From the start of `spanwise serve` to ready, over this store and over an empty one; memory once it is ready."""

    seconds: list[float]
    empty_seconds: list[float]
    anonymous_bytes: int
    file_bytes: int
    circumstances: Circumstances


class Results(msgspec.Struct, omit_defaults=True):
    """Everything that was measured of one data set; `command` is what measured the last of it."""

    shape: Shape
    command: str = ""
    build: Built | None = None
    check: Checked | None = None
    engine: Engines | None = None
    http: Pages | None = None
    ingest: Ingest | None = None
    open: Opened | None = None


def read(folder: Path, shape: Shape) -> Results:
    """Returns what `folder` holds of a data set; nothing yet if there is no file."""
    file = folder / FILE
    return msgspec.json.decode(file.read_bytes(), type=Results) if file.exists() else Results(shape)


def write(folder: Path, results: Results) -> None:
    """Replaces the results in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    staged = folder / f"{FILE}.new"
    staged.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
    staged.replace(folder / FILE)


def read_all(target: Path) -> list[Results]:
    """Returns the results of every data set below `target`, the smallest first."""
    files = target.glob(f"bench-store-*/{FILE}")
    found = [msgspec.json.decode(file.read_bytes(), type=Results) for file in files]
    return sorted(found, key=lambda results: (results.shape.traces, results.shape.documents, results.shape.seed))
