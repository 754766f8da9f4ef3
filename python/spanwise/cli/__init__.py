"""How is Spanwise run by hand? One command is one file here, named after it, with a click command `command`.

Where the name is a word of Python's own, the file's ends with an underscore.
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
    """The commands of this folder, each imported only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Returns the names of the files beside this one."""
        return sorted(_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # likewise
        """Returns the command of one file."""
        file = _files().get(cmd_name)
        if file is None:
            return None
        command: click.Command = import_module(f"{__name__}.{file}").command
        return command


def _files() -> dict[str, str]:
    """Returns the name of each command's file, by the command's name."""
    names = (file.name for file in pkgutil.iter_modules(__path__))
    return {name.removesuffix("_"): name for name in names if not name.startswith("_")}


@click.group(cls=CommandFiles)
@click.version_option(package_name="spanwise")
def commands() -> None:
    """Receives, keeps and searches the traces of AI agents."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that `arguments` name; those of the process if not given."""
    commands.main(arguments, prog_name="spanwise")
