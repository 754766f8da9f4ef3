"""`spanwise demo`: fills a store with sample traces, and serves it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from spanwise.app import Service
from spanwise.cli.serve import run
from spanwise.cli.shared.browser import open_page_when_ready, page_address, service_address
from spanwise.cli.shared.flags import errors_as_lines
from spanwise.demo.captures import trace_ids
from spanwise.demo.fill import SEED, TRACES, fill, load_or_create_plan, mark_complete
from spanwise.demo.hosted import hosted
from spanwise.http.listeners import expect_free
from spanwise.traces import TraceStore

_RECORD = "demo.json"
_FAILURES = {
    "filter": {
        "op": "AND",
        "conditions": [
            {"op": "EQ", "key": "status", "value": "ERROR"},
            {"op": "GT", "key": "duration_ms", "value": 5000},
        ],
    },
    "limit": 3,
}
_HOLIDAY = {"filter": {"op": "EQ", "key": "session_id", "value": "holiday"}}
_SESSIONS = {
    "group_by": "session",
    "filter": {"op": "CONTAINS", "key": "name", "value": "weather"},
    "limit": 5,
}


@click.command()
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
    service = Service(**hosted())
    service.configure({name: value for name, value in given.items() if value is not None}, None)
    settings = service.settings
    expect_free(settings)
    address = service_address(settings)
    click.echo(f"The user interface: {page_address(address)}")
    _fill_once(data_dir / _RECORD, settings.trace_store, traces, seed)
    _print_examples(address)
    if opens:
        open_page_when_ready(address)
    run(service)


def _fill_once(record: Path, store_path: str, traces: int | None, seed: int | None) -> None:
    plan = load_or_create_plan(record, traces, seed)
    if plan.complete and Path(store_path).exists():
        click.echo(f"Using the {plan.traces:,} traces of seed {plan.seed} in {record.parent}.")
        return
    store = TraceStore.open(store_path)
    try:
        label = f"Writing {plan.traces:,} traces to {record.parent}"
        with click.progressbar(length=plan.traces, label=label) as bar:
            rejected = fill(store, plan, bar.update)
    finally:
        store.close()
    mark_complete(record, plan)
    if rejected:
        click.echo(f"{rejected} spans were rejected.")


def _print_examples(address: str) -> None:
    (captured,) = trace_ids("agno", "agent-tool")
    search = f"curl -s {address}/traces/search -H 'Content-Type: application/json' -d"
    click.echo(f"\nServing on {address} (press Ctrl-C to stop). Try:\n")
    click.echo("# failed runs that took longer than five seconds, with their span trees")
    click.echo(f"{search} '{json.dumps(_FAILURES)}'\n")
    click.echo("# sessions with a run whose name contains `weather`")
    click.echo(f"{search} '{json.dumps(_SESSIONS)}'\n")
    click.echo("# a captured run of an agno agent that called a tool")
    click.echo(f"curl -s {address}/traces/{captured}\n")
    click.echo("# run an agent, then search for its trace")
    click.echo(f"curl -s {address}/agents/guide/runs -d message=Kyoto -d session_id=holiday -d stream=false")
    click.echo(f"{search} '{json.dumps(_HOLIDAY)}'\n")
