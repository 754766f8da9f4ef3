"""Agents that wait for a test, for services with an unavailable database: `support.apps.held:service`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise import Service
from spanwise.components import Agent, Call, Pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


async def held(message: str) -> AsyncIterator[str]:
    """Ends once the file named by the message exists."""
    yield "begun "
    while not Path(message).exists():  # noqa: ASYNC110, ASYNC240  # another process creates the file
        await asyncio.sleep(0.02)
    yield "ended"


def asking(message: str, call: Call) -> Iterator[object]:
    if call.is_continued:
        yield f"{message}: {call.answers[0]['confirmation']}"
    else:
        yield Pause([{"confirmation": None}])


service = Service(agents=[Agent(held, id="held"), Agent(asking, id="asking")])
