"""Code blocks of the documentation, to be run as printed."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_FENCE = re.compile(r"^```(?P<language>[\w-]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGES_WITH_EVERY_RUN = re.compile(
    r"\b\d+(?:\.\d+)? ?(?:m?s|[KMG]?B|log objects)\b|\b(?:[0-9a-f]{16}){1,2}\b|\b\d{4}-\d\d-\d\dT[\d:.]+Z"
)


class Block(NamedTuple):
    """A fenced block of a page.

    Attributes:
        before: the text of the page between the previous block and this one.
    """

    language: str
    text: str
    before: str


class Command(NamedTuple):
    """A command of a console block, with the output printed below it."""

    line: str
    output: str


def blocks_of(page: Path) -> list[Block]:
    """Returns the fenced blocks of a page, from top to bottom."""
    source = page.read_text("utf-8")
    found, end = [], 0
    for fence in _FENCE.finditer(source):
        found.append(Block(fence["language"], fence["text"], source[end : fence.start()]))
        end = fence.end()
    return found


def commands_of(block: str) -> list[Command]:
    """Returns the commands of a console block. A command of several lines is one text."""
    found = []
    for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *output = example.splitlines()
        while not _is_whole(line):
            line += f"\n{output.pop(0)}"
        found.append(Command(line, "\n".join(output)))
    return found


def console_of(page: Path) -> str:
    """Returns all console blocks of a page as one."""
    return "".join(block.text for block in blocks_of(page) if block.language == "console")


def words_of(output: str) -> list[str]:
    """Returns the words of an output without values that change: durations, sizes, times, ids."""
    return _CHANGES_WITH_EVERY_RUN.sub("...", output).split()


def _is_whole(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith(("|", "&&", "\\"))
