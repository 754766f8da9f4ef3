"""The results for one data set, in a JSON file next to its store. Each stage writes its own part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.data.shape import Shape  # likewise
from spanwise.bench.machine import Circumstances  # msgspec reads the types
from spanwise.output_file import write_output

if TYPE_CHECKING:
    from pathlib import Path

FILE = "results.json"


class Built(msgspec.Struct):
    """The build of the store: how long it took to fill and to compact it, and its size.

    For rows without documents there are no spans, and `compact_seconds` is the time for building the indexes.
    """

    fill_seconds: float
    compact_seconds: float
    spans: int
    sent_bytes: int
    disk_bytes: int
    circumstances: Circumstances


class Checked(msgspec.Struct):
    """How many results of each query were compared with those of DuckDB; all were equal."""

    answers: dict[str, int]
    circumstances: Circumstances


class QueryTimes(msgspec.Struct):
    """The times of one query on all engines: milliseconds for each run, by the name of the engine.

    `scan_bytes` are the bytes that a scan would have to read at least, and `random_read_nanoseconds` are what a read at
    a random place of memory took just before; 0 if that was not measured.
    """

    query: str
    title: str
    kind: str
    group_by: str
    page: int
    total: int
    times: dict[str, list[float]]
    scan_bytes: int = 0
    random_read_nanoseconds: float = 0


class Engines(msgspec.Struct):
    """The times of the queries measured so far, and the memory of each engine with all rows loaded, in bytes.

    `memory_bytes_a_second` is the speed at which all cores read memory; 0 if that was not measured.
    """

    rows: list[QueryTimes]
    memory: dict[str, int]
    circumstances: Circumstances
    is_complete: bool = True
    memory_bytes_a_second: float = 0


class Questions(msgspec.Struct):
    """The times of generated questions.

    Attributes:
        rows: the questions so far.
        left_out: why an engine takes no part, by its name.
        circumstances: when and where; the load is the highest one of all runs that added questions.
        is_complete: whether all questions that were wanted are there.
    """

    rows: list[QueryTimes]
    left_out: dict[str, str]
    circumstances: Circumstances
    is_complete: bool = True
    memory_bytes_a_second: float = 0


class IndexSizes(msgspec.Struct):
    """The files of the store in bytes, and the seconds that making each index took, by the name of the file.

    `documents` are the spans themselves. `elsewhere` are the bytes that a span takes in other formats, by their names.
    """

    bytes: dict[str, int]
    seconds: dict[str, float]
    circumstances: Circumstances
    elsewhere: dict[str, float] = {}


class Asked(msgspec.Struct):
    """The times of one question about contents, in milliseconds.

    Attributes:
        title: its name.
        kind: what has the same goal.
        total: the traces found; `None` if the engine rejected it, because it would look at too many documents.
        first: of Spanwise, with nothing kept of earlier answers.
        again: of the same question asked at once again.
        next_page: of its second page.
        peers: by the name of the engine.
    """

    title: str
    kind: str
    total: int | None
    first: list[float]
    again: list[float]
    next_page: list[float]
    peers: dict[str, list[float]]


class Contents(msgspec.Struct):
    """The times of all questions about texts, about spans, or about attributes."""

    rows: list[Asked]
    circumstances: Circumstances


class PageTimes(msgspec.Struct):
    """The times of one query over HTTP with span trees, in milliseconds, and the median size of the responses."""

    title: str
    limit: int
    total: int
    answer_bytes: int
    times: list[float]


class Pages(msgspec.Struct):
    """The times of all queries over HTTP."""

    rows: list[PageTimes]
    circumstances: Circumstances


class Durable(msgspec.Struct):
    """Ingest over HTTP until the spans are on disk. `disk_bytes` counts everything the server wrote in that time."""

    connections: int
    seconds: float
    spans: int
    sent_bytes: int
    rejections: int = msgspec.field(name="refusals")
    disk_bytes: int
    disk_megabytes_a_second: float
    client_cpu_seconds: float


class Busy(msgspec.Struct):
    """Search times in milliseconds, without and with concurrent ingest, and how many new traces were found at once."""

    idle: list[float]
    busy: list[float]
    spans: int
    seconds: float
    rejections: int = msgspec.field(name="refusals")
    asked: int
    found: int


class Ingest(msgspec.Struct):
    """The results of both ingest benchmarks."""

    durable: Durable
    busy: Busy
    circumstances: Circumstances


class Opened(msgspec.Struct):
    """The time until `spanwise serve` is ready, with this store and with an empty one, and its memory then.

    Attributes:
        seconds: the time of each start with this store.
        empty_seconds: the time of each start with an empty store.
        anonymous_bytes: its private memory, `RssAnon`, of the start with most.
        file_bytes: what of mapped files is in memory, `RssFile`, likewise.
        peak_bytes: the most that both were together since the start, `VmHWM`; 0 in results from before it was measured.
        circumstances: when and where.
        empty_resident_bytes: private and mapped memory with an empty store, of the start with most; 0 likewise.
    """

    seconds: list[float]
    empty_seconds: list[float]
    anonymous_bytes: int
    file_bytes: int
    circumstances: Circumstances
    peak_bytes: int = 0
    empty_resident_bytes: int = 0


class Results(msgspec.Struct, omit_defaults=True):
    """All results for one data set; `command` is the command that measured the last of them."""

    shape: Shape
    command: str = ""
    build: Built | None = None
    indexes: IndexSizes | None = None
    check: Checked | None = None
    engine: Engines | None = None
    aggregate: Engines | None = None
    facets: Engines | None = None
    texts: Contents | None = None
    spans: Contents | None = None
    attributes: Contents | None = None
    questions: Questions | None = None
    masks: Engines | None = None
    http: Pages | None = None
    ingest: Ingest | None = None
    open: Opened | None = None


def read(folder: Path, shape: Shape) -> Results:
    """Reads the results in `folder`; returns empty results if there is no file."""
    file = folder / FILE
    return msgspec.json.decode(file.read_bytes(), type=Results) if file.exists() else Results(shape)


def write(folder: Path, results: Results) -> None:
    """Replaces the results file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    write_output(folder / FILE, msgspec.json.format(msgspec.json.encode(results), indent=1))


def read_all(target: Path) -> list[Results]:
    """Reads the results of all data sets below `target`, ordered by size."""
    files = target.glob(f"bench-store-*/{FILE}")
    found = [msgspec.json.decode(file.read_bytes(), type=Results) for file in files]
    return sorted(found, key=lambda results: (results.shape.traces, results.shape.documents, results.shape.seed))
