"""`spanwise serve`: runs the service until it is stopped."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from spanwise.app import Service
from spanwise.cli.shared.flags import errors_as_lines, settings_flags
from spanwise.cli.shared.log import log_to_stderr
from spanwise.errors import ConfigurationError
from spanwise.http.server import serve
from spanwise.malloc_trim import start_trimming

if sys.platform != "win32":
    import uvloop


@click.command()
@click.argument("target", required=False, metavar="[MODULE:SERVICE]")
@settings_flags
@errors_as_lines
def command(target: str | None, config: Path | None, **flags: str | tuple[str, ...] | None) -> None:
    """Run a service until it is stopped.

    Runs the service MODULE:SERVICE, or by default a service with the given settings.
    """
    service = find_service(target) if target else Service()
    service.configure({name: value for name, value in flags.items() if value not in (None, ())}, config)
    run(service)


def run(service: Service) -> None:
    """Serves `service` in the foreground, until SIGTERM or SIGINT.

    Raises:
        ConfigurationError: this is Windows.
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "the service runs on Linux and macOS, and in containers; on Windows there are filters and the client"
        )
    start_trimming()
    log_to_stderr(service.settings)
    uvloop.run(serve(service))


def find_service(target: str) -> Service:
    """Returns the service `module:service`, searching the working directory first.

    Raises:
        ConfigurationError: the module cannot be imported, or the attribute is not a service.
    """
    module_name, _, attribute = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: object = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"expected MODULE:SERVICE, got `{target}`: {error}") from error
    if not isinstance(found, Service):
        raise ConfigurationError(f"expected a Service at `{target}`, got `{type(found).__name__}`")
    return found
