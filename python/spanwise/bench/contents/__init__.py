"""Questions about what was said in traces, what was done, and attributes: what is asked, and which engines answer."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

from spanwise.bench.errors import WrongResultError
from spanwise.bench.queries import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from spanwise.bench.contents.literals import ContentLiterals
    from spanwise.bench.data.tables import Tables
    from spanwise.bench.peers import QueryResult

LIMIT = 100
MAX_PEER_TRACES = 1_000_000
"""The traces that a peer holds at most: their texts take about 7 KB each."""
Subject = Literal["texts", "spans", "attributes"]
PEERS: dict[Subject, tuple[str, ...]] = {
    "texts": ("duckdb", "chdb", "tantivy"),
    "spans": ("duckdb", "chdb"),
    "attributes": ("duckdb",),
}
"""The engines by the names of their packages. Only DuckDB answers everything; the others take part where they can."""

Kind = Literal["token", "part", "rare phrase", "phrase", "narrowed", "spans", "axes", "sums", "attributes"]


class Question(msgspec.Struct, frozen=True):
    """What is asked: for the newest 100 traces that match, and how many there are.

    Attributes:
        title: its name in the report.
        kind: what has the same goal.
        filter: the filter; placeholders are filled.
        words: whether its texts are whole words wherever they stand, so that an index of words finds the same.
    """

    title: str
    kind: Kind
    filter: Any
    words: bool = False


class _QuestionFile(msgspec.Struct):
    about: str
    texts: list[Question]
    spans: list[Question]
    attributes: list[Question]


class Engine(Protocol):
    """An engine with all texts and spans."""

    def answers(self, question: Question) -> bool:
        """Returns whether the engine can answer `question` as it is meant."""

    def prepare(self, question: Question) -> Callable[[], QueryResult]:
        """Returns a function that answers `question`. Only the call is timed."""

    def close(self) -> None:
        """Releases everything."""


class Contents(NamedTuple):
    """What a peer holds.

    Attributes:
        rows: the rows of the traces, newest first: their places are the numbers of traces in the tables.
        tables: yields the tables of all traces, some at a time.
        folder: where an engine may keep files until it is closed.
    """

    rows: pa.Table
    tables: Callable[[], Iterator[Tables]]
    folder: Path


def questions(about: Subject, literals: ContentLiterals) -> list[Question]:
    """Returns the questions in `questions.json`, with literals of the data set."""
    source = files(__package__).joinpath("questions.json").read_bytes()
    templates: list[Question] = getattr(msgspec.json.decode(source, type=_QuestionFile), about)
    return [msgspec.structs.replace(each, filter=fill(each.filter, literals)) for each in templates]


def installed_peers(about: Subject, chosen: tuple[str, ...], log: Callable[[str], None]) -> list[str]:
    """Returns the engines to compare with: DuckDB if it is chosen, and the others if they are installed."""
    if not chosen:
        return []
    peers = []
    for name in PEERS[about]:
        if name == "duckdb":
            peers += [name] * (name in chosen)
        elif find_spec(name):
            peers.append(name)
        else:
            log(f"{about}: {name} is not installed, and left out")
    return peers


def open_peer(name: str, contents: Contents) -> Engine:
    """Opens the engine `name`."""
    peer: Engine = import_module(f"{__name__}.{name}").open_engine(contents)
    return peer


def compare(question: Question, expected: QueryResult, name: str, found: QueryResult) -> None:
    """Compares the answer of engine `name` with that of DuckDB.

    Raises:
        WrongResultError: they differ.
    """
    if found.total != expected.total:
        raise WrongResultError(f"{name} finds {found.total} traces, DuckDB {expected.total}, for {question}")
    if found.ids != expected.ids:
        pairs = zip([*found.ids, None], [*expected.ids, None], strict=False)
        index, (got, wanted) = next((index, pair) for index, pair in enumerate(pairs) if pair[0] != pair[1])
        raise WrongResultError(f"{name} has `{got}` at index {index}, DuckDB `{wanted}`, for {question}")
