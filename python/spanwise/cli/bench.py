"""`spanwise bench`: measure Spanwise beside other engines, on this machine, and write down what came out."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.bench.peers import PEERS
from spanwise.bench.stages import STAGES
from spanwise.cli._flags import errors_as_lines

if TYPE_CHECKING:
    from types import ModuleType

_PACKAGES = (*PEERS, "numpy", "google_crc32c")


@click.command()
@click.option("--traces", type=click.IntRange(min=1_000), default=20_000, show_default=True, help="How many traces.")
@click.option(
    "--documents",
    type=click.Choice(["real", "small", "none"]),
    default="real",
    show_default=True,
    help="real: a median of 6 and up to 500 spans a trace, about 1 KB each; small: one span of half a KB a trace; "
    "none: rows alone, searched without peers.",
)
@click.option("--seed", type=click.IntRange(min=0), default=7, show_default=True, help="Other seeds, other traces.")
@click.option(
    "--only", type=click.Choice([*STAGES, "report"]), multiple=True, help="Do this stage alone; may be repeated."
)
@click.option("--again", is_flag=True, help="Measure again what was measured before. The store is built once.")
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="Timed runs of each query.")
@click.option(
    "--query-seconds",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="No further run of a query begins after so long.",
)
@click.option(
    "--ingest-seconds",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="How long spans are sent.",
)
@click.option("--peer", type=click.Choice(PEERS), multiple=True, help="Beside this engine alone; may be repeated.")
@click.option(
    "--target",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("target"),
    show_default=True,
    help="Where the stores are kept, and used again.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The Markdown file to write, with a JSON and an SVG file beside it. [default: TARGET/benchmarks.md]",
)
@click.option(
    "--readme",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A file whose region between `<!-- bench -->` and `<!-- /bench -->` is written anew.",
)
@errors_as_lines
def command(**options: object) -> None:
    """Build a seeded data set through the store's own door, check every answer against DuckDB, then take the times.

    Every stage keeps its results in TARGET; a stage that is done is not done again unless told to. The report is made
    of the results of all data sets that are there.
    """
    _expect_packages()
    run: ModuleType = import_module("spanwise.bench.run")
    run.run(run.Options(**options, say=click.echo))


def _expect_packages() -> None:
    """Ends the command if the extra is not installed."""
    missing = []
    for package in _PACKAGES:
        try:
            import_module(package)
        except ModuleNotFoundError:
            missing.append(package)
    if missing:
        names = ", ".join(missing)
        raise click.ClickException(
            f"spanwise bench needs {names}, which come with the extra `bench`: pip install 'spanwise[bench]'"
        )
