"""`spanwise show`: prints one trace as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click
import msgspec

from spanwise.cli.shared.browser import NoServiceError
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines, settings_of_store
from spanwise.cli.shared.remote import remote_at, remote_options
from spanwise.cli.shared.table import line_console, print_line
from spanwise.cli.shared.trace_tree import trace_lines
from spanwise.errors import ConfigurationError
from spanwise.traces.read_only import find_trace

if TYPE_CHECKING:
    from spanwise.cli.shared.remote import Remote


@click.command(cls=Command)
@click.argument("given", nargs=-1, required=True, metavar="[FOLDER] TRACE_ID")
@remote_options
@click.option("--json", "as_json", is_flag=True, help="Print the JSON of `GET /traces/{trace_id}`.")
@errors_as_lines
def command(given: tuple[str, ...], url: str | None, token: str | None, *, as_json: bool) -> None:
    """Print one trace as a tree.

    Prints the spans of the trace TRACE_ID with their durations, tokens and errors. Reads the data folder FOLDER, which
    may be in use. Without FOLDER, asks the running service, or reads the configured folder if no service responds.
    """
    *folders, trace_id = given
    if len(folders) > 1:
        raise click.UsageError(f"expected [FOLDER] TRACE_ID, got {len(given)} arguments", click.get_current_context())
    if folders:
        body = _stored(folders[0], trace_id)
    else:
        body = _served(remote_at(url, token), trace_id, is_named=url is not None)
    if as_json:
        click.echo(body)
        return
    trace: dict[str, Any] = msgspec.json.decode(body)
    console = line_console()
    for line in trace_lines(trace):
        print_line(console, line)


def _served(remote: Remote, trace_id: str, *, is_named: bool) -> bytes:
    """Returns a trace from the service. Without `--url` and a running service, reads the configured folder."""
    try:
        with remote.open(f"/traces/{quote(trace_id, safe='')}") as response:
            return response.read()
    except NoServiceError as error:
        if is_named:
            raise
        try:
            return _stored(None, trace_id)
        except ConfigurationError as missing:
            raise click.ClickException(f"{error.message}; {missing}") from missing


def _stored(folder: str | None, trace_id: str) -> bytes:
    settings = settings_of_store(folder, None)
    body = find_trace(settings, trace_id)
    if body is None:
        searched = " ".join(filter(None, ["spanwise search", folder]))
        raise click.ClickException(f"`{settings.trace_store}` has no trace `{trace_id}`; list traces with `{searched}`")
    return body
