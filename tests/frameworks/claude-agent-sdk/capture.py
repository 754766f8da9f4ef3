"""The Claude Agent SDK: its command line program sends the spans."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

# recipe
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool

# The variables above are all that tracing needs. Options may set them too: ClaudeAgentOptions(env={...}).
# end of recipe

QUESTION = "What is the weather in Paris?"


@tool("get_weather", "The weather of a city.", {"city": str})
async def get_weather(arguments: dict[str, str]) -> dict[str, object]:
    return {"content": [{"type": "text", "text": f"It is sunny in {arguments['city']}."}]}


@tool("get_stock", "The price of a stock.", {"symbol": str})
async def get_stock(arguments: dict[str, str]) -> dict[str, object]:
    return {"content": [{"type": "text", "text": f"the exchange of {arguments['symbol']} is closed"}], "is_error": True}


OPTIONS = ClaudeAgentOptions(
    model="claude-sonnet-4-5",
    system_prompt="You know the weather.",
    mcp_servers={"city": create_sdk_mcp_server("city", tools=[get_weather, get_stock])},
    allowed_tools=["mcp__city__get_weather", "mcp__city__get_stock"],
    tools=[],
    setting_sources=[],
    session_id="6f1d0c9e-4b7a-4d52-9a53-0c1b2a3d4e5f",
)


async def ask(*questions: str) -> None:
    async with ClaudeSDKClient(OPTIONS) as client:
        for question in questions:
            await client.query(question)
            async for _ in client.receive_response():
                pass


CASES = {
    "tool": [QUESTION],
    "session": ["Hello, my name is Ada.", "What is my name?"],
    "tool-error": ["What does the stock SPAN cost?"],
    "model-error": ["Hello, my name is Ada."],
}
# The installation id is random otherwise.
(Path.home() / ".claude.json").write_text(json.dumps({"userID": "ada0" * 16}))
asyncio.run(ask(*CASES[sys.argv[1]]))
