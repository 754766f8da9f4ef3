"""`spanwise bench`: benchmarks Spanwise and other engines on this machine, and writes a report."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.bench.peers import PEERS
from spanwise.bench.stages import STAGES
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines

if TYPE_CHECKING:
    from types import ModuleType

_PACKAGES = (*PEERS, "numpy", "google_crc32c")


@click.command(cls=Command)
@click.option(
    "--traces", type=click.IntRange(min=1_000), default=20_000, show_default=True, help="Number of traces to generate."
)
@click.option(
    "--documents",
    type=click.Choice(["real", "small", "none"]),
    default="real",
    show_default=True,
    help="real: traces of up to 500 spans, 6 in the median, of about 1 KB each; small: one span of 0.5 KB per trace; "
    "none: rows without documents, and no other engines unless --peer names them.",
)
@click.option("--seed", type=click.IntRange(min=0), default=7, show_default=True, help="Seed of the generated traces.")
@click.option(
    "--only", type=click.Choice([*STAGES, "report"]), multiple=True, help="Run only this stage. May be repeated."
)
@click.option("--again", is_flag=True, help="Repeat stages that have results. An existing store is reused.")
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Timed runs per query.")
@click.option(
    "--query-seconds",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Time limit per query; no further run starts after it.",
)
@click.option(
    "--ingest-seconds",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Duration of the ingest benchmark.",
)
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Number of generated questions.",
)
@click.option("--peer", type=click.Choice(PEERS), multiple=True, help="Compare only with this engine. May be repeated.")
@click.option(
    "--target",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("target"),
    show_default=True,
    help="Folder for the generated stores, which are reused.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Markdown file for the report; a JSON and an SVG file are written next to it. [default: TARGET/benchmarks.md]",
)
@click.option(
    "--readme",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="File to update with a summary between `<!-- bench -->` and `<!-- /bench -->`.",
)
@errors_as_lines
def command(**options: object) -> None:
    """Benchmark Spanwise against other engines on this machine.

    Generates a seeded data set, verifies every result against DuckDB, then measures. Each stage saves its results in
    TARGET. A stage with saved results is skipped, unless --again is given. The report covers all data sets in TARGET
    and in the earlier report.
    """
    _expect_packages()
    _expect_regular_file(options["report"])
    run: ModuleType = import_module("spanwise.bench.run")
    run.run(run.Options(**options, log=click.echo))


def _expect_regular_file(report: object) -> None:
    """Exits with an error unless the report is a regular file, because figures are written to the same folder."""
    if isinstance(report, Path) and report.exists() and not report.is_file():
        raise click.ClickException(
            f"expected a regular file for --report, got `{report}`: figures are written beside it"
        )


def _expect_packages() -> None:
    """Exits with an error if the extra `bench` is not installed."""
    missing = []
    for package in _PACKAGES:
        try:
            import_module(package)
        except ModuleNotFoundError:
            missing.append(package)
    if missing:
        names = ", ".join(missing)
        raise click.ClickException(f"missing packages: {names}; install them with `pip install 'spanwise[bench]'`")
