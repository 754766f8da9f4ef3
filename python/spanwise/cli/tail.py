"""`spanwise tail`: follows the traces that a running service receives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from spanwise.cli.shared.arguments import EVERYTHING
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines
from spanwise.cli.shared.remote import remote_at, remote_options
from spanwise.cli.shared.table import line_console, print_line, printable
from spanwise.cli.shared.trace_tree import ERROR_STYLE
from spanwise.strict_json import quote_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME_WIDTH = 40


@click.command(cls=Command)
@click.argument("source", default=EVERYTHING, metavar="[FILTER]")
@remote_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object per line, as `POST /traces/tail` sends them."
)
@errors_as_lines
def command(source: str, url: str | None, token: str | None, *, as_json: bool) -> None:
    """Follow the traces that a running service receives.

    Prints a line for each trace that matches FILTER, by default all, as soon as it is stored, until Ctrl-C. FILTER is
    JSON, as in a search. When later spans of a trace arrive, it is printed again, with a + before it.
    """
    try:
        condition = json.loads(source)
    except ValueError as error:
        found = quote_hint(source) or f"got `{source}`"
        raise click.UsageError(f"expected FILTER as JSON: {found}", click.get_current_context()) from error
    remote = remote_at(url, token)
    console = line_console()
    with remote.open("/traces/tail", {"filter": condition}, timeout=None) as response:
        if not as_json:
            click.echo(f"Following {remote.url}; Ctrl-C ends it.", err=True)
        for name, data in _events(response):
            if as_json:
                click.echo(json.dumps({"event": name, **data}))
            elif line := _line(name, data):
                print_line(console, line)


def _events(lines: Iterable[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the name and the data of each server-sent event."""
    name, data = "", ""
    for line in lines:
        member, _, value = line.decode().rstrip("\r\n").partition(": ")
        if member == "event":
            name = value
        elif member == "data":
            data += value
        elif not member and name:
            yield name, json.loads(data or "{}")
            name, data = "", ""


def _line(name: str, data: dict[str, Any]) -> Text | None:
    """Returns the line of an event; None if it is not shown."""
    match name:
        case "trace":
            return _trace_line(data)
        case "dropped":
            return Text(f"{data['count']:,} more came too fast to be shown", style="dim")
        case "gap":
            return Text("some traces are missing here", style="dim")
        case "end":
            return Text(f"the service ended it: {printable(str(data['reason']))}", style="dim")
        case _:
            return None


def _trace_line(trace: dict[str, Any]) -> Text:
    is_failed = trace["status"] == "ERROR"
    text = Text("+ " if trace.get("update") else "  ", style="dim")
    text.append(f"{trace['start_time'][11:19]}  ", style="dim")
    text.append(f"{trace['status']:<5}", style=ERROR_STYLE if is_failed else "green")
    text.append(f"  {trace['duration']:>8}  {trace['total_spans']:>4} spans  ", style="not dim")
    text.append(printable(trace["name"])[:NAME_WIDTH].ljust(NAME_WIDTH), style="not dim")
    text.append(f"  {trace['trace_id']}", style="dim")
    error = trace.get("error_preview")
    return text.append(f"  {printable(error.partition(chr(10))[0])}", style=ERROR_STYLE) if error else text
