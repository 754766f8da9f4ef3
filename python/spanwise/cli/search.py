"""`spanwise search`: searches a data folder without a service."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from msgspec import Raw

from spanwise.api.traces import Detail, GroupBy, SearchRequest
from spanwise.cli.shared.arguments import folder_and_filter
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines, settings_of_store
from spanwise.cli.shared.table import table
from spanwise.cli.shared.words import counted
from spanwise.traces.read_only import search_traces

_RUNS = {
    "START": "start_time",
    "STATUS": "status",
    "DURATION": "duration",
    "SPANS": "total_spans",
    "NAME": "name",
    "USER": "user_id",
    "SESSION": "session_id",
    "TRACE": "trace_id",
}
_SESSIONS = {
    "LAST TRACE": "last_trace_at",
    "TRACES": "total_traces",
    "AGENTS": "agent_id",
    "USER": "user_id",
    "SESSION": "session_id",
}


@click.command(cls=Command)
@click.argument("given", nargs=-1, metavar="[FOLDER] [FILTER]")
@click.option("--page", default=1, show_default=True, type=click.IntRange(min=1), help="Page number, from 1.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100), help="Items per page.")
@click.option("--sessions", is_flag=True, help="Group the traces by session.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the JSON response of `POST /traces/search`, with span trees."
)
@errors_as_lines
def command(given: tuple[str, ...], *, as_json: bool, sessions: bool, **window: int) -> None:
    """Search for traces in a data folder.

    Prints a page of the traces that match FILTER, by default all, in the data folder FOLDER, by default the configured
    one. FILTER is JSON, as in `POST /traces/search`. The folder may be in use.
    """
    folder, source = folder_and_filter(given)
    settings = settings_of_store(folder, None)
    group_by = GroupBy.SESSION if sessions else GroupBy.RUN
    detail = Detail.FULL if as_json else Detail.SUMMARY
    body = search_traces(
        settings, SearchRequest(Raw(source.encode()), group_by, window["page"], window["limit"], detail)
    )
    if as_json:
        click.echo(body)
        return
    page: dict[str, Any] = msgspec.json.decode(body)
    meta = page["meta"]
    items = "session" if sessions else "trace"
    if not meta["total_count"]:
        click.echo(f"No {items} matches.")
        return
    click.echo(table(_SESSIONS if sessions else _RUNS, page["data"]), nl=False)
    click.echo(f"Page {meta['page']} of {meta['total_pages']}; {counted(meta['total_count'], items)} in total.")
