"""`docs/reference/commands.md` has every command and every flag, and no others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import pytest

from spanwise.cli import commands
from spanwise.settings import TABLE
from support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")
OF_SETTINGS = {setting.flag for setting in TABLE.values() if setting.flag} | {"--config", "--help-all"}
TAKE_SETTINGS = {"serve", "cluster up"}


def leaves(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yields the commands below a group, with their names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


COMMANDS = dict(leaves(commands))


def rows(heading: str) -> dict[str, str]:
    """Returns the second cells of the first table below a heading, by each code name in the first cells."""
    table = PAGE.partition(f"\n{heading}\n")[2].partition("\n| --- | --- |\n")[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ", 1) for line in table.splitlines()]
    return {name: cell for names, cell in cells for name in re.findall("`([^`]+)`", names)}


def test_every_command_is_named() -> None:
    (overview,) = re.findall(r"^\| Command \| Purpose \|\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    named = {each.split("[")[0] for each in re.findall(r"`spanwise ([a-z ]*[a-z])", overview)}
    named |= {f"cluster {name}" for name in ("status", "down") if f"`{name} [FOLDER]`" in overview}
    assert named == set(COMMANDS)
    assert set(rows("## Flags")) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_of_a_command_is_named(name: str) -> None:
    options = [each for each in COMMANDS[name].params if isinstance(each, click.Option)]
    flags = {flag for each in options for flag in (*each.opts, *each.secondary_opts)}
    if name in TAKE_SETTINGS:
        flags = flags - OF_SETTINGS | {"--help-all"}
    assert set(re.findall(r"`(--?[a-z-]+)`", rows("## Flags")[name])) == flags
