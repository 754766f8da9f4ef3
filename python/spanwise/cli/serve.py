"""`spanwise serve`: runs the service until it is stopped."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

import click

from spanwise.app import Service
from spanwise.cli.shared.banner import banner
from spanwise.cli.shared.commands import Command
from spanwise.cli.shared.flags import errors_as_lines, settings_flags
from spanwise.cli.shared.log import is_for_people, log_to_stderr
from spanwise.cli.shared.service_module import find_service
from spanwise.errors import ConfigurationError
from spanwise.http.server import serve
from spanwise.malloc_trim import start_trimming

if sys.platform != "win32":
    import uvloop

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.http.server import Addresses


@click.command(cls=Command)
@click.argument("target", required=False, metavar="[MODULE:SERVICE]")
@settings_flags
@errors_as_lines
def command(target: str | None, config: Path | None, **flags: str | tuple[str, ...] | None) -> None:
    """Run a service until it is stopped.

    Runs the service MODULE:SERVICE, or by default a service with the given settings. MODULE alone is MODULE:service.
    Each flag is also an environment variable: `--data-dir` is SPANWISE_DATA_DIR.
    """
    service = find_service(target) if target else Service()
    service.configure({name: value for name, value in flags.items() if value not in (None, ())}, config)
    run(service)


def run(service: Service, epilogue: str = "") -> None:
    """Serves `service` in the foreground, until SIGTERM or SIGINT.

    Args:
        service: the service.
        epilogue: text after the banner; omitted if the log is JSON.

    Raises:
        ConfigurationError: this is Windows.
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "the service runs on Linux and macOS, and in containers; on Windows there are filters and the client"
        )
    start_trimming()
    settings = service.settings
    log_to_stderr(settings)

    def announce(addresses: Addresses) -> None:
        click.echo(banner(addresses, settings) + epilogue, err=True)

    uvloop.run(serve(service, announce if is_for_people(settings) else None))
    if settings.cluster:
        # Everything is closed. A process that used Ray sometimes did not end by itself.
        logging.shutdown()
        os._exit(0)
