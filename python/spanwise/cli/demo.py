"""`spanwise demo`: fills a store with sample traces, and serves it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spanwise.app import Service
from spanwise.cli.serve import run
from spanwise.cli.shared.browser import open_page_when_ready, service_address
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines
from spanwise.cli.shared.progress import progress
from spanwise.demo.captures import trace_ids
from spanwise.demo.fill import SEED, TRACES, fill, load_or_create_plan, mark_complete
from spanwise.demo.hosted import hosted
from spanwise.http.listeners import expect_free
from spanwise.traces.store_options import open_store

if TYPE_CHECKING:
    from spanwise.settings import Settings

_RECORD = "demo.json"
DEFAULT_ADDRESS = "http://127.0.0.1:7777"
_ERRORS = '{"op": "EQ", "key": "status", "value": "ERROR"}'


@click.command(cls=Command)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("spanwise-data/demo"),
    show_default=True,
    help="Data folder of the demo.",
)
@click.option("--traces", type=click.IntRange(min=1), help=f"Number of traces to generate. [default: {TRACES}]")
@click.option("--seed", type=int, help=f"Seed of the generated traces. [default: {SEED}]")
@click.option("--host", help="Address to listen on.")
@click.option("--port", help="Port to listen on.")
@click.option("--open/--no-open", "opens", default=True, help="Open the user interface where there is a desktop.")
@errors_as_lines
def command(  # noqa: PLR0913  # click passes each flag by itself
    data_dir: Path, traces: int | None, seed: int | None, host: str | None, port: str | None, *, opens: bool
) -> None:
    """Serve a store with sample traces.

    Fills a store with generated and captured traces, then serves it together with a few agents, and opens the user
    interface in a browser. If the folder already contains the traces, they are reused.
    """
    given = {"data_dir": str(data_dir), "host": host, "port": port}
    service = Service(**hosted(), settings={"log_format": "text"})
    service.configure({name: value for name, value in given.items() if value is not None}, None)
    settings = service.settings
    expect_free(settings)
    address = service_address(settings)
    _fill_once(data_dir / _RECORD, settings, traces, seed)
    if opens:
        open_page_when_ready(address)
    run(service, _examples(address, data_dir))


def _fill_once(record: Path, settings: Settings, traces: int | None, seed: int | None) -> None:
    url = settings.trace_store  # rejects a folder with other contents before anything is written to it
    plan = load_or_create_plan(record, traces, seed)
    if plan.complete and Path(url).exists():
        click.echo(f"Using the {plan.traces:,} traces of seed {plan.seed} in {record.parent}.")
        return
    store = open_store(url, settings)
    try:
        label = f"Writing {plan.traces:,} traces to {record.parent}"
        click.echo(f"{label}.")
        with progress("Writing", plan.traces, "traces") as meter:
            rejected = fill(store, plan, meter.advance)
    finally:
        store.close()
    mark_complete(record, plan)
    if rejected:
        click.echo(f"{rejected} spans were rejected.")


def _examples(address: str, data_dir: Path) -> str:
    """Returns example commands with their descriptions."""
    (captured,) = trace_ids("agno", "agent-tool")
    program, url = _program(), "" if address == DEFAULT_ADDRESS else f" --url {address}"
    examples = {
        f"{program} show {captured}{url}": "a run of an agno agent that called a tool",
        f"{program} search {data_dir} '{_ERRORS}'": "the failed runs",
        f"{program} tail{url}": "what comes in, until Ctrl-C",
        f"curl {address}/agents/guide/runs -d message=Kyoto -d stream=false": "run an agent: its trace comes in",
    }
    lines = [f"  {command}\n      {what}" for command, what in examples.items()]
    return "\n".join(["\n", "Try in another terminal:", *lines, ""])


def _program() -> str:
    """Returns the shell command that runs this program."""
    given = Path(sys.argv[0])
    if given.name != "spanwise":
        return f"{os.path.relpath(sys.executable)} -m spanwise"
    found = shutil.which("spanwise")
    return "spanwise" if found and Path(found).samefile(given) else os.path.relpath(given)
