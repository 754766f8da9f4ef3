"""Commands of Spanwise, run in the process of the test."""

from __future__ import annotations

from click.testing import CliRunner

from spanwise.cli import commands


def spanwise(*arguments: str) -> str:
    """Returns the standard output of a command, and asserts that its exit code is 0."""
    done = CliRunner().invoke(commands, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout
