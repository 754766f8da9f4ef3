"""The service measured by `test_runs.py`: `spanwise serve run_components:service`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise import Agent, Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def empty(message: str) -> str:
    return message


async def chunks(message: str) -> AsyncIterator[str]:
    for _ in range(int(message)):
        yield "a word "


service = Service(agents=[Agent(empty, id="empty"), Agent(chunks, id="chunks")])
