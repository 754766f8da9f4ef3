"""The command line interface. Each command is a module of this package with a click command named `command`.

A module has the name of its command, with a trailing underscore if the name is a Python keyword.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommandPanel

from spanwise.cli.shared.commands import HELP, CommandFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

PANELS = (
    RichCommandPanel("Start here", commands=["demo", "serve", "ui"]),
    RichCommandPanel("Look at traces", commands=["tail", "show", "search"]),
    RichCommandPanel("Keep traces", commands=["import", "export", "backup", "check", "compact", "delete"]),
    RichCommandPanel("And also", commands=["cluster", "token", "bench"]),
)


@click.group(cls=CommandFolder, panels=list(PANELS), context_settings={"rich_help_config": HELP})
@click.version_option(package_name="spanwise", message="spanwise %(version)s")
def commands() -> None:
    """Collect, store and search traces of AI agents."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command given by `arguments`, by default the arguments of the process."""
    commands.main(arguments, prog_name="spanwise")
