"""The classes of the command `spanwise` and its subcommands: grouped help, and one line per error."""

from __future__ import annotations

import errno
import pkgutil
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich_click import RichCommand, RichGroup, RichHelpConfiguration

if TYPE_CHECKING:
    from collections.abc import Sequence

HELP = RichHelpConfiguration(theme="default-slim", text_markup=None, max_width=100)
INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended, as in shells."""


class Command(RichCommand):
    """One command. The first line of its help is its row in the list of commands."""

    def get_help(self, ctx: click.Context) -> str:
        """Returns the help page without trailing blanks."""
        return "\n".join(line.rstrip() for line in super().get_help(ctx).splitlines())


_NO_ARGUMENTS: tuple[type[click.UsageError], ...] = tuple(
    error for name, error in vars(click.exceptions).items() if name == "NoArgsIsHelpError"
)
"""The error that click raises to print a help page. Versions before 8.2 print it themselves."""


class Commands(RichGroup):
    """A group of commands. Each error is one line: the problem, then the remedy."""

    command_class = Command

    def get_help(self, ctx: click.Context) -> str:
        """Returns the help page without trailing blanks."""
        return "\n".join(line.rstrip() for line in super().get_help(ctx).splitlines())

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002  # click's signature
        **extra: Any,  # noqa: ANN401  # likewise
    ) -> Any:  # noqa: ANN401  # likewise
        """Runs a command. In standalone mode the process ends with its exit code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except _NO_ARGUMENTS as error:
            click.echo(error.message, err=True)
            sys.exit(error.exit_code)
        except click.ClickException as error:
            _end_with(error)
        except click.Abort:
            click.echo("Stopped.", err=True)
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno != errno.EPIPE:
                raise
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)


class CommandFolder(Commands):
    """A group of the commands in a package, each imported when it is first used.

    A module has the name of its command, with a trailing underscore if the name is a Python keyword, and a click
    command named `command`. Subfolders are not commands.
    """

    package = "spanwise.cli"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Returns the names of the commands."""
        return sorted(self._modules())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # likewise
        """Returns the command with this name."""
        file = self._modules().get(cmd_name)
        if file is None:
            return None
        command: click.Command = import_module(f"{self.package}.{file}").command
        command.name = cmd_name
        return command

    def _modules(self) -> dict[str, str]:
        """Returns the module names by command name."""
        path = import_module(self.package).__path__
        names = (name for _, name, is_folder in pkgutil.iter_modules(path) if not is_folder)
        return {name.removesuffix("_"): name for name in names}


def _end_with(error: click.ClickException) -> NoReturn:
    message = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        message = f"{message.removesuffix('.')}; see `{error.ctx.command_path} --help`"
    click.echo(f"Error: {message}", err=True)
    sys.exit(error.exit_code)
