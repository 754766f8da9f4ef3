"""Runs a benchmark: the stages in order, then the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spanwise.bench import machine, results, stages
from spanwise.bench.data.shape import Shape
from spanwise.bench.peers import PEERS
from spanwise.bench.plan import Effort, Plan
from spanwise.bench.report import write_report
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.data.shape import Documents


class Options(NamedTuple):
    """The command line options; an empty tuple of stages or peers means all of them."""

    traces: int
    documents: Documents
    seed: int
    only: tuple[str, ...]
    again: bool
    runs: int
    query_seconds: float
    ingest_seconds: float
    questions: int
    peer: tuple[str, ...]
    target: Path
    report: Path | None
    readme: Path | None
    log: Callable[[str], None]


def run(options: Options) -> None:
    """Runs the chosen stages.

    Raises:
        ConfigurationError: the disk is too full, the store that a stage needs is not built, or this is not Linux.
        WrongResultError: a result differs from that of a peer.
        ServerError: the measured server does not start, or rejects a request.
    """
    if not machine.is_readable():
        raise ConfigurationError("the benchmark reads memory and disk statistics from `/proc`, which only Linux has")
    shape = Shape(options.traces, options.documents, options.seed)
    folder = options.target / shape.folder
    # Data sets without documents are those that do not fit into the memory of the peers, unless peers are named.
    peers = options.peer or (() if shape.documents == "none" else PEERS)
    plan = Plan(
        shape=shape,
        effort=Effort(options.runs, options.query_seconds, options.ingest_seconds, peers, options.questions),
        target=options.target,
        results=results.read(folder, shape),
        log=options.log,
    )
    every = stages.WITHOUT_DOCUMENTS if shape.documents == "none" else stages.STAGES
    chosen = options.only or (*every, "report")
    stages.run(plan, chosen, again=options.again)
    if "report" in chosen:
        report = options.report or options.target / "benchmarks.md"
        write_report(results.read_all(options.target), report, options.readme)
        options.log(f"report: {report}")
