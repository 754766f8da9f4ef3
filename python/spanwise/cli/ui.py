"""`spanwise ui`: opens the user interface of a running service."""

from __future__ import annotations

from pathlib import Path

import click

from spanwise.cli.shared.browser import expect_address, expect_page, open_page, page_address, service_address
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines
from spanwise.settings import CONFIG_VARIABLE, load_settings


@click.command(cls=Command)
@click.option("--url", help="Address of the service; by default, the address in the settings.")
@click.option("--host", help="Address that the service listens on. [SPANWISE_HOST]")
@click.option("--port", help="Port that the service listens on. [SPANWISE_PORT]")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Read settings from this TOML file. [{CONFIG_VARIABLE}]",
)
@errors_as_lines
def command(url: str | None, host: str | None, port: str | None, config: Path | None) -> None:
    """Open the user interface of a running service in a browser.

    Finds the service through the settings that `spanwise serve` reads. Prints the address, so that you can open it on
    another machine if this one has no desktop.
    """
    given = {name: value for name, value in {"host": host, "port": port}.items() if value is not None}
    page = page_address(expect_address(url) if url else service_address(load_settings(flags=given, config=config)))
    expect_page(page)
    click.echo(page)
    if not open_page(page):
        click.echo("No browser found on this machine: open this address in a browser elsewhere.", err=True)
