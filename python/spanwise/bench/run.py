"""One bench from its options: the stages in order, then the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spanwise.bench import machine, results, stages
from spanwise.bench.peers import PEERS
from spanwise.bench.plan import Effort, Plan
from spanwise.bench.report import write_report
from spanwise.bench.shape import Shape
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.shape import Documents


class Options(NamedTuple):
    """What the command line says; an empty tuple of stages or peers is all of them."""

    traces: int
    documents: Documents
    seed: int
    only: tuple[str, ...]
    again: bool
    runs: int
    query_seconds: float
    ingest_seconds: float
    peer: tuple[str, ...]
    target: Path
    report: Path | None
    readme: Path | None
    say: Callable[[str], None]


def run(options: Options) -> None:
    """Does the stages that are asked for.

    Raises:
        ConfigurationError: the disk is too full, a stage needs the store, which is not built, or this is not Linux.
        WrongAnswerError: an answer differs from that of a peer.
        ServerError: a server that is measured does not answer as it should.
    """
    if not machine.is_readable():
        raise ConfigurationError("the bench reads memory and disk figures from `/proc`, which only Linux has")
    shape = Shape(options.traces, options.documents, options.seed)
    folder = options.target / shape.folder
    # Rows without documents are more than peers could hold in memory.
    peers = () if shape.documents == "none" else options.peer or PEERS
    plan = Plan(
        shape=shape,
        effort=Effort(options.runs, options.query_seconds, options.ingest_seconds, peers),
        target=options.target,
        results=results.read(folder, shape),
        say=options.say,
    )
    every = stages.WITHOUT_DOCUMENTS if shape.documents == "none" else stages.STAGES
    chosen = options.only or (*every, "report")
    stages.run(plan, chosen, again=options.again)
    if "report" in chosen:
        report = options.report or options.target / "benchmarks.md"
        write_report(results.read_all(options.target), report, options.readme)
        options.say(f"report: {report}")
