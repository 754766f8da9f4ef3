"""Commands of Spanwise, run in the process of the test."""

from __future__ import annotations

from click.testing import CliRunner

from spanwise.cli import commands


def spanwise(*arguments: str) -> str:
    """Returns what a command prints on standard output; its exit code is 0."""
    done = CliRunner().invoke(commands, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout
