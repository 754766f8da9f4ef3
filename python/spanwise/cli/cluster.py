"""`spanwise cluster`: the shards and gateways of a store in a Ray cluster. Experimental."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from spanwise.cli.shared.commands import Command, Commands
from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, json_flag, settings_flags, settings_of_store
from spanwise.cli.shared.log import log_to_stderr
from spanwise.cli.shared.words import counted
from spanwise.cluster.gateways import MAX_GATEWAYS, end_gateways, start_gateways, states_of_gateways
from spanwise.cluster.ray.admin import end_shards, expect_cluster, states_of
from spanwise.errors import ConfigurationError
from spanwise.gateway_service import serve_gateway
from spanwise.settings import load_settings
from spanwise.traces.store_options import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.cluster.gateways import GatewayState
    from spanwise.cluster.ray.admin import ShardState

address_flag = click.option(
    "--address",
    default="auto",
    show_default=True,
    help="The address of the Ray cluster; `auto` for one on this machine.",
)

_NOUNS = {"gateway": "gateway", "writer": "shard", "follower": "follower"}


@click.group(cls=Commands)
def command() -> None:
    """Start, show and stop the shards of a store in a Ray cluster (experimental).

    Several machines were never tried. One writer with readers over a bucket is the recommended way to grow.
    """


@command.command(cls=Command)
@click.option(
    "--gateways",
    type=click.IntRange(0, MAX_GATEWAYS),
    default=1,
    show_default=True,
    help="The number of gateways: services that Ray runs. They listen on `--port`, or on one of the next ports.",
)
@settings_flags
@errors_as_lines
def up(config: Path | None, gateways: int, **flags: str | tuple[str, ...] | None) -> None:
    """Start the shards and gateways of a store, and return once all are open.

    They run until `spanwise cluster down`, and Ray restarts those that end. Running processes are left alone. A new
    store gets `--shards` shards. `--cluster` is the address of the Ray cluster, by default one on this machine.
    Services with the same `--data-dir` and `--cluster` use the same shards.
    """
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    settings = load_settings(flags=given, config=config)
    settings = replace(settings, cluster=settings.cluster or "auto")
    log_to_stderr(settings)
    expect_cluster(settings.cluster)
    states: list[ShardState] = []
    for url in settings.trace_stores.values():
        open_store(url, settings).close()
        states += states_of(url, settings.cluster)
    for state in states:
        click.echo(_sentence(state))
    for gateway in start_gateways(settings, gateways, serve_gateway):
        click.echo(_sentence_of_gateway(gateway))


@command.command(cls=Command)
@click.argument("data_dir", required=False, metavar="[FOLDER]")
@address_flag
@db_id_flag
@json_flag
@errors_as_lines
def status(data_dir: str | None, address: str, db_id: str | None, *, as_json: bool) -> None:
    """Show the state of every shard and gateway, and exit with code 1 unless all are up.

    FOLDER is the data folder of the store, by default the configured one.
    """
    settings = replace(settings_of_store(data_dir, db_id), cluster=address)
    expect_cluster(address)
    states = states_of(settings.trace_store, address)
    gateways = states_of_gateways(settings)
    if as_json:
        click.echo(msgspec.json.encode({"shards": states, "gateways": gateways}))
    elif all(state.state == "down" for state in states) and not gateways:
        raise ConfigurationError("no shard of the store is running; start them with `spanwise cluster up`")
    else:
        for line in (*map(_sentence, states), *map(_sentence_of_gateway, gateways)):
            click.echo(line)
    if {state.state for state in states} | {gateway.state for gateway in gateways} != {"up"}:
        raise click.exceptions.Exit(1)


@command.command(cls=Command)
@click.argument("data_dir", required=False, metavar="[FOLDER]")
@address_flag
@db_id_flag
@errors_as_lines
def down(data_dir: str | None, address: str, db_id: str | None) -> None:
    """Stop the gateways and shards of a store, and nothing else.

    Stored data stays. Other services respond with 503 until the shards are up again.

    FOLDER is the data folder of the store, by default the configured one.
    """
    settings = replace(settings_of_store(data_dir, db_id), cluster=address)
    expect_cluster(address)
    # Gateways stop first, so that they can finish their requests.
    ended = {"gateway": end_gateways(settings)} | end_shards(settings.trace_store, address)
    what = ", ".join(counted(count, _NOUNS[role]) for role, count in ended.items() if count)
    click.echo(f"Ended {what}." if what else "No shard of the store runs there.")


def _sentence(state: ShardState) -> str:
    """Returns the state of a shard as a sentence."""
    traces = f", {counted(state.traces, 'trace')}" if state.traces is not None else ""
    what = "Shard" if state.role == "writer" else "The follower of shard"
    where = _where(state.host, state.process_id)
    return f"{what} `{state.shard}` is {state.state}{where}{traces}{_why(state.error)}."


def _sentence_of_gateway(state: GatewayState) -> str:
    """Returns the state of a gateway as a sentence."""
    url = f", {state.url}" if state.url else ""
    return f"Gateway {state.gateway} is {state.state}{_where(state.host, state.process_id)}{url}{_why(state.error)}."


def _where(host: str | None, process_id: int | None) -> str:
    return f" on {host}, process {process_id}" if host else ""


def _why(error: str | None) -> str:
    return f": {error}" if error else ""
