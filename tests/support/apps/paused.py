"""Agents, a team and workflows that pause for answers: `spanwise serve support.apps.paused:service`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise import Service
from spanwise.components import Agent, Broadcast, Call, Condition, Pause, Route, Team, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator


def refund(message: str, call: Call) -> str | Pause:
    """Reads its answer as the documentation shows."""
    if not call.is_continued:
        return Pause([{"question": f"Refund {message}?"}])
    return "refunded" if call.answers[0]["confirmation"] else "kept"


def book(message: str, call: Call) -> Iterator[object]:
    """Asks two questions at once."""
    if not call.is_continued:
        yield "Let me ask. "
        yield Pause([{"id": "room", "question": "Which room?"}, {"id": "day", "question": "Which day?"}], message)
    else:
        room, day = call.answers
        yield f"{call.state}: room {room['text']} on {day['text']}"


def agents() -> list[Agent]:
    return [Agent(refund, id="refund"), Agent(book, id="book")]


service = Service(
    agents=agents(),
    teams=[Team(agents(), Broadcast(), id="all"), Team(agents(), Route(lambda _: "book"), id="one")],
    workflows=[
        Workflow([refund, str.upper], id="steps"),
        Workflow([Condition("any", lambda _: True, [Team(agents(), Broadcast(), id="all")])], id="nested"),
    ],
)
