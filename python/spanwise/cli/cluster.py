"""`spanwise cluster`: the shards of a store in a Ray cluster, which any number of services use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from spanwise.cli.shared.commands import Command, Commands
from spanwise.cli.shared.flags import db_id_flag, errors_as_lines, json_flag, settings_flags, settings_of_store
from spanwise.cli.shared.log import log_to_stderr
from spanwise.cli.shared.words import counted
from spanwise.errors import ConfigurationError
from spanwise.settings import load_settings
from spanwise.traces.admin import end_cluster, start_cluster, states_in_cluster

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.traces.shards.cluster.admin import ShardState

address_flag = click.option(
    "--address",
    default="auto",
    show_default=True,
    help="The address of the Ray cluster; `auto` for one on this machine.",
)

_NOUNS = {"writer": "shard", "follower": "follower"}


@click.group(cls=Commands)
def command() -> None:
    """Start, look at and end the shards of a store in a Ray cluster."""


@command.command(cls=Command)
@settings_flags
@errors_as_lines
def up(config: Path | None, **flags: str | tuple[str, ...] | None) -> None:
    """Start the shards of a store, and return once all of them are open.

    They go on until `spanwise cluster down`, and Ray starts those again that end. A store that is not there yet gets
    `--shards` of them. `--cluster` is the address of the Ray cluster, by default one on this machine. Services with the
    same `--data-dir` and `--cluster` use them.
    """
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    settings = load_settings(flags=given, config=config)
    log_to_stderr(settings)
    for state in start_cluster(settings):
        click.echo(_sentence(state))


@command.command(cls=Command)
@click.argument("data_dir", required=False, metavar="[FOLDER]")
@address_flag
@db_id_flag
@json_flag
@errors_as_lines
def status(data_dir: str | None, address: str, db_id: str | None, *, as_json: bool) -> None:
    """Show how every shard is, and exit with code 1 if one is not up.

    The store is that of the data folder FOLDER, by default the configured one.
    """
    states = states_in_cluster(settings_of_store(data_dir, db_id), address)
    if as_json:
        click.echo(msgspec.json.encode({"shards": states}))
    elif all(state.state == "down" for state in states):
        raise ConfigurationError("no shard of the store runs there: `spanwise cluster up` starts them")
    else:
        for state in states:
            click.echo(_sentence(state))
    if any(state.state != "up" for state in states):
        raise click.exceptions.Exit(1)


@command.command(cls=Command)
@click.argument("data_dir", required=False, metavar="[FOLDER]")
@address_flag
@db_id_flag
@errors_as_lines
def down(data_dir: str | None, address: str, db_id: str | None) -> None:
    """End the shards of a store. What is stored stays, and services answer 503 until the shards are up again.

    The store is that of the data folder FOLDER, by default the configured one.
    """
    ended = end_cluster(settings_of_store(data_dir, db_id), address)
    what = " and ".join(counted(count, _NOUNS[role]) for role, count in ended.items())
    click.echo(f"Ended {what}." if ended else "No shard of the store runs there.")


def _sentence(state: ShardState) -> str:
    """Returns how a shard is, for people."""
    where = f" on {state.host}, process {state.process_id}" if state.host else ""
    traces = f", {counted(state.traces, 'trace')}" if state.traces is not None else ""
    error = f": {state.error}" if state.error else ""
    what = "Shard" if state.role == "writer" else "The follower of shard"
    return f"{what} `{state.shard}` is {state.state}{where}{traces}{error}."
