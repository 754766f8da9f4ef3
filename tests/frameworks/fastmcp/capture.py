"""FastMCP: a client and a server, which send spans by themselves."""

from __future__ import annotations

import asyncio
import sys

# recipe
from fastmcp import Client, FastMCP
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
# end of recipe

from fastmcp.exceptions import ToolError

server = FastMCP("city")


@server.tool
def get_weather(city: str) -> dict[str, str]:
    """Returns the weather of a city."""
    return {"city": city, "weather": "sunny"}


@server.tool
def get_stock(symbol: str) -> str:
    """Returns the price of a stock."""
    raise ToolError(f"the exchange of {symbol} is closed")


@server.resource("city://{name}")
def city(name: str) -> str:
    """Returns what is known of a city."""
    return f"{name} is a city."


@server.prompt
def ask(city: str) -> str:
    """Returns a question."""
    return f"What is the weather in {city}?"


async def tool(client: Client) -> None:
    await client.call_tool("get_weather", {"city": "Paris"})


async def tool_error(client: Client) -> None:
    await client.call_tool("get_stock", {"symbol": "SPAN"}, raise_on_error=False)


async def resource(client: Client) -> None:
    await client.read_resource("city://Paris")


async def prompt(client: Client) -> None:
    await client.get_prompt("ask", {"city": "Paris"})


async def main() -> None:
    async with Client(server) as client:
        await globals()[sys.argv[1].replace("-", "_")](client)


asyncio.run(main())
