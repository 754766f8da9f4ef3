"""The command line interface. Each command is a module of this package with a click command named `command`.

A module has the name of its command, with a trailing underscore if the name is a Python keyword.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


class CommandFiles(click.Group):
    """A group of the commands in this package, each imported only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Returns the names of the commands."""
        return sorted(_modules())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # likewise
        """Returns the command with this name."""
        file = _modules().get(cmd_name)
        if file is None:
            return None
        command: click.Command = import_module(f"{__name__}.{file}").command
        return command


def _modules() -> dict[str, str]:
    """Returns the module names by command name. Folders are no commands."""
    names = (name for _, name, is_folder in pkgutil.iter_modules(__path__) if not is_folder)
    return {name.removesuffix("_"): name for name in names}


@click.group(cls=CommandFiles)
@click.version_option(package_name="spanwise")
def commands() -> None:
    """Collect, store and search traces of AI agents."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command given by `arguments`, by default the arguments of the process."""
    commands.main(arguments, prog_name="spanwise")
