"""`docs/reference/limits.md` has every budget and every limit of the code."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from spanwise.auth.identity import MAX_TOKEN_BYTES
from spanwise.auth.processor_budget import BURST_SECONDS, REQUEST_BYTES, WAITING_BYTES
from spanwise.fair_budget import SHARE_FACTOR
from spanwise.http.responses.budget import PUBLIC_RESPONSE_BYTES, PUBLIC_WRITE_SECONDS
from spanwise.http.server import MAX_HEADER_BYTES
from spanwise.http.websocket import protocol
from spanwise.settings import TABLE
from spanwise.strict_json import MAX_DEPTH
from spanwise.traces.download_slots import MAX_DOWNLOADS, MAX_WAITING, UNUSED_SECONDS, WAIT_SECONDS
from spanwise.traces.service import DELETION_THREADS, MAX_WAITING_DELETIONS
from spanwise.traces.tail import HELD_SECONDS, MAX_HELD, MAX_TAILS
from support.paths import ROOT, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (ROOT / "docs" / "reference" / "limits.md").read_text("utf-8")
LIMITING = re.compile(
    r"max_(?!bytes$)\w+|\w+_(buffer_bytes|queue_size|deadline_seconds|threads|processor_share)|drain_seconds"
)
KIBIBYTE, MEBIBYTE = 1024, 1024 * 1024


def messages() -> Iterator[str]:
    """Yields the constant parts of the messages of all budgets in the sources."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "FairBudget":
                match node.args[1]:
                    case ast.Constant(value=str(text)):
                        yield text
                    case ast.JoinedStr(values=values):
                        yield from (str(part.value).strip() for part in values if isinstance(part, ast.Constant))


DIVIDED, UNKNOWN, UNDIVIDED = "Shares", "Unknown clients", "Undivided"


def rows(section: str) -> list[list[str]]:
    """Returns the cells of the table in a section of the page."""
    (text,) = [part for part in PAGE.split("\n## ") if part.startswith(section)]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_budget_that_is_divided_is_listed_as_one_and_no_other() -> None:
    found = list(messages())
    assert len(found) >= 10
    divided = [row for row in rows(DIVIDED) + rows(UNKNOWN) if "divided by" in row[1] or row in rows(DIVIDED)]
    ends = " ".join(row[2] for row in divided)
    for text in found:
        assert text in ends, f"`{text}` is not said to be divided"
    texts = re.findall(r"`((?:too many|more than) [^`]+)`", " ".join(row[2] for row in rows(DIVIDED)))
    assert [text for text in texts if not any(part in text for part in found)] == []


@pytest.mark.parametrize("name", [name for name in TABLE if LIMITING.fullmatch(name)])
def test_every_setting_of_a_limit_is_listed_and_it_is_said_whose_it_is(name: str) -> None:
    """Each is the budget of one row: divided among callers or unknown clients, or undivided."""
    listed = [section for section in (DIVIDED, UNKNOWN, UNDIVIDED) for row in rows(section) if f"`{name}`" in row[1]]
    named_as_a_deadline = [row for row in rows(DIVIDED) if f"`{name}`" in row[2]]
    assert len(listed) == 1 or (name.endswith("deadline_seconds") and named_as_a_deadline), (name, listed)


def test_what_is_not_divided_has_a_reason() -> None:
    assert all(len(row) == 4 and len(row[3]) > 10 for row in rows(UNDIVIDED)), rows(UNDIVIDED)
    assert all(len(row) == 3 for section in (DIVIDED, UNKNOWN) for row in rows(section))


FIGURES = {
    "64 KiB, 100 lines; 32 KiB always pass": MAX_HEADER_BYTES == 64 * KIBIBYTE,
    "| token | 8 KiB; its JSON 32 levels deep": (MAX_TOKEN_BYTES, MAX_DEPTH) == (8 * KIBIBYTE, 32),
    "divided by address; 0.5 s of it at once": BURST_SECONDS == 0.5,
    "4 MiB of heads, and 16 KiB for each request": (WAITING_BYTES, REQUEST_BYTES) == (4 * MEBIBYTE, 16 * KIBIBYTE),
    "A caller may hold three times the free part": SHARE_FACTOR == 3,
    "| deletions, including waiting ones | 2 + 64 |": (DELETION_THREADS, MAX_WAITING_DELETIONS) == (2, 64),
    "more than 8 exports at once": MAX_DOWNLOADS == 8,
    "more than 64 exports wait": MAX_WAITING == 64,
    "for up to 10 s": WAIT_SECONDS == 10,
    "nothing for 5 s": UNUSED_SECONDS == 5,
    "more than 64 tails at once": MAX_TAILS == 64,
    "| tails that can be resumed | 32, for 5 minutes |": (MAX_HELD, HELD_SECONDS) == (32, 300),
    "4 MiB, divided by address; 10 s without": (PUBLIC_RESPONSE_BYTES, PUBLIC_WRITE_SECONDS) == (4 * MEBIBYTE, 10),
    "| 64, for 10 s, three attempts |": (
        protocol.MAX_UNKNOWN_SOCKETS,
        protocol.AUTHENTICATION_SECONDS,
        protocol.MAX_FAILED_AUTHENTICATIONS,
    )
    == (64, 10, 3),
    "| message of such a socket | 16 KiB |": protocol.MAX_UNKNOWN_MESSAGE_BYTES == 16 * KIBIBYTE,
    "| 1 MiB; 100 in a second |": (protocol.MAX_MESSAGE_BYTES, protocol.MAX_MESSAGES_PER_SECOND) == (MEBIBYTE, 100),
    "| runs in one socket | 32 |": protocol.MAX_ACTIONS == 32,
    "more than 2048 runs": TABLE["max_concurrent_runs"].default == "2048",
    "more than 512 streams": TABLE["max_event_streams"].default == "512",
    "more than 256 sockets": TABLE["max_websockets"].default == "256",
}


@pytest.mark.parametrize("text", FIGURES)
def test_a_figure_is_that_of_the_code(text: str) -> None:
    assert text in PAGE
    assert FIGURES[text]
