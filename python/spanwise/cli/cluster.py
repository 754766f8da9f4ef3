"""`spanwise cluster`: the shards of a store in a Ray cluster, shared by any number of services."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from spanwise.cli.shared.commands import Command, Commands
from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, json_flag, settings_flags, settings_of_store
from spanwise.cli.shared.log import log_to_stderr
from spanwise.cli.shared.words import counted
from spanwise.errors import ConfigurationError
from spanwise.fronts.admin import MAX_FRONTS, end_fronts, start_fronts, states_of_fronts
from spanwise.settings import load_settings
from spanwise.traces.admin import end_cluster, start_cluster, states_in_cluster
from spanwise.traces.shards.cluster.admin import expect_cluster

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.fronts.admin import FrontState
    from spanwise.traces.shards.cluster.admin import ShardState

address_flag = click.option(
    "--address",
    default="auto",
    show_default=True,
    help="The address of the Ray cluster; `auto` for one on this machine.",
)

_NOUNS = {"front": "front door", "writer": "shard", "follower": "follower"}


@click.group(cls=Commands)
def command() -> None:
    """Start, show and stop the shards of a store in a Ray cluster."""


@command.command(cls=Command)
@click.option(
    "--fronts",
    type=click.IntRange(0, MAX_FRONTS),
    default=1,
    show_default=True,
    help="How many front doors: services that Ray runs. They listen on `--port`, or on one of those that follow.",
)
@settings_flags
@errors_as_lines
def up(config: Path | None, fronts: int, **flags: str | tuple[str, ...] | None) -> None:
    """Start the shards and gateways of a store, and return once all are open.

    They run until `spanwise cluster down`, and Ray restarts those that end. Running processes are left alone. A new
    store gets `--shards` shards. `--cluster` is the address of the Ray cluster, by default one on this machine.
    Services with the same `--data-dir` and `--cluster` use the same shards.
    """
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    settings = load_settings(flags=given, config=config)
    settings = replace(settings, cluster=settings.cluster or "auto")
    log_to_stderr(settings)
    for state in start_cluster(settings):
        click.echo(_sentence(state))
    for front in start_fronts(settings, fronts):
        click.echo(_sentence_of_front(front))


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
    states = states_in_cluster(settings)
    fronts = states_of_fronts(settings)
    if as_json:
        click.echo(msgspec.json.encode({"shards": states, "fronts": fronts}))
    elif all(state.state == "down" for state in states) and not fronts:
        raise ConfigurationError("no shard of the store is running; start them with `spanwise cluster up`")
    else:
        for line in (*map(_sentence, states), *map(_sentence_of_front, fronts)):
            click.echo(line)
    if {state.state for state in states} | {front.state for front in fronts} != {"up"}:
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
    ended = {"front": end_fronts(settings)} | end_cluster(settings)
    what = ", ".join(counted(count, _NOUNS[role]) for role, count in ended.items() if count)
    click.echo(f"Ended {what}." if what else "No shard of the store runs there.")


def _sentence(state: ShardState) -> str:
    """Returns the state of a shard as a sentence."""
    traces = f", {counted(state.traces, 'trace')}" if state.traces is not None else ""
    what = "Shard" if state.role == "writer" else "The follower of shard"
    where = _where(state.host, state.process_id)
    return f"{what} `{state.shard}` is {state.state}{where}{traces}{_why(state.error)}."


def _sentence_of_front(state: FrontState) -> str:
    """Returns the state of a gateway as a sentence."""
    url = f", {state.url}" if state.url else ""
    return f"Front door {state.front} is {state.state}{_where(state.host, state.process_id)}{url}{_why(state.error)}."


def _where(host: str | None, process_id: int | None) -> str:
    return f" on {host}, process {process_id}" if host else ""


def _why(error: str | None) -> str:
    return f": {error}" if error else ""
