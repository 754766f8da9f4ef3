"""A component that ignores its cancellation: `spanwise serve support.apps.deaf:service`."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from spanwise import Service
from spanwise.components import Agent


async def deaf(message: str) -> str:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        if message == "end":
            return message


service = Service(agents=[Agent(deaf, id="deaf")])
