"""The commands of the harness."""

from __future__ import annotations

from pathlib import Path

import click

from .capturing import capture
from .facts import failures, gaps, replayed
from .framework import read
from .page import PAGE, page
from .showing import requests_text, tree_of

ENVIRONMENTS = Path("target/frameworks")


@click.group()
def harness() -> None:
    """Captures the exports of frameworks and writes the page about them."""


@harness.command("capture")
@click.argument("framework")
@click.argument("case", nargs=-1)
@click.option("--environment", type=click.Path(path_type=Path), help="Folder to install into; kept if it exists.")
def capture_command(framework: str, case: tuple[str, ...], environment: Path | None) -> None:
    """Runs the cases of a framework and writes its exports."""
    unknown = set(case) - {known.name for known in read(framework).cases}
    if unknown:
        raise click.UsageError(f"{framework} has no case {', '.join(sorted(unknown))}")
    capture(framework, list(case), (environment or ENVIRONMENTS / framework).absolute())


@harness.command("show")
@click.argument("framework")
@click.argument("case", nargs=-1)
@click.option("--attributes", is_flag=True, help="Print the spans as they were sent instead.")
def show_command(framework: str, case: tuple[str, ...], *, attributes: bool) -> None:
    """Prints the facts read from the exports of a framework, and the differences from the expected ones."""
    for known in read(framework).cases:
        if case and known.name not in case:
            continue
        click.secho(f"== {known.name}: {known.description}", bold=True)
        traces = replayed(framework, known)
        click.echo(requests_text(framework, known) if attributes else "\n".join(map(tree_of, traces)))
        for place, message in failures(known, traces).items():
            word = "known gap" if place in gaps(read(framework), known) else "WRONG"
            click.echo(f"{word}: {place}: {message}")


@harness.command("page")
def page_command() -> None:
    """Writes `docs/frameworks.md`."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    harness()
