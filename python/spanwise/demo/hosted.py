"""The components that the demo hosts: agents, a team, a workflow and a factory, all made of plain functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypedDict
from zlib import crc32

from msgspec import Meta, Struct

from spanwise.components import Agent, Broadcast, Condition, Pause, Step, Team, Workflow
from spanwise.factories import AgentFactory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spanwise.components import Call
    from spanwise.factories import RequestContext

SKIES = ("sunny", "rain", "cloudy", "windy", "fog")
COLD = 12
ADVICE = {"rain": "Take an umbrella.", "sunny": "Take sunglasses.", "windy": "Take a scarf."}


class DemoComponents(TypedDict):
    """The components, as arguments of `Service`."""

    agents: list[object]
    teams: list[object]
    workflows: list[object]


class Taste(Struct):
    """The preferences of a traveller."""

    units: Annotated[Literal["metric", "imperial"], Meta(description="Degrees Celsius or Fahrenheit.")] = "metric"


def weather(city: str) -> tuple[str, int]:
    """Returns made-up weather for a city: the sky, and the temperature in degrees Celsius. It never changes."""
    drawn = crc32(city.strip().casefold().encode())
    return SKIES[drawn % len(SKIES)], 4 + drawn // len(SKIES) % 27


def look_up(city: str, call: Call) -> tuple[str, int]:
    """Returns the weather, and records a tool span."""
    with call.span("look_up_weather", "TOOL", city) as span:
        sky, degrees = weather(city)
        span.output(f"{sky}, {degrees} C")
    return sky, degrees


async def guide(city: str, call: Call) -> AsyncIterator[str]:
    """Streams the answer in chunks, as a model would."""
    sky, degrees = look_up(city, call)
    yield f"{city}: {sky}, {degrees} C."
    if sky in ADVICE:
        yield f" {ADVICE[sky]}"


def pack(city: str, call: Call) -> str:
    """Returns a packing list, and counts the calls in the session state."""
    _, degrees = look_up(city, call)
    call.session_state["lists"] = call.session_state.get("lists", 0) + 1
    return "Pack a coat." if degrees < COLD else "Pack light."


def find_room(city: str, sky: str) -> str:
    """Returns a room. Hotels in fog do not respond."""
    if sky == "fog":
        raise ConnectionError(f"the hotel in {city} does not answer")
    return "room 7"


def book(city: str, call: Call) -> str | Pause:
    """Books a room after approval. The tool fails in fog."""
    if not call.is_continued:
        return Pause([{"question": f"Book a room in {city}?"}])
    if not call.answers[0].get("confirmation"):
        return "Nothing was booked."
    sky, _ = look_up(city, call)
    try:
        with call.span("book_room", "TOOL", city) as span:
            span.output(find_room(city, sky))
    except ConnectionError as error:
        return f"No room was booked: {error}."
    return f"Room 7 in {city} is yours."


def build(context: RequestContext) -> Agent:
    """Returns a guide for one request, with the user and the preferences of its caller."""
    taste: Taste = context.input

    def tell(city: str, call: Call) -> str:
        sky, degrees = look_up(city, call)
        temperature = f"{degrees} C" if taste.units == "metric" else f"{degrees * 9 // 5 + 32} F"
        return f"{context.user_id or 'Traveller'}, {city} has {temperature} and {sky}."

    return Agent(tell, name="Your guide")


def hosted() -> DemoComponents:
    """Returns the agents, teams and workflows of the demo."""
    guiding = Agent(guide, id="guide", name="Guide", description="Returns the weather in a city.")
    packing = Agent(pack, id="packer", name="Packer", description="Says what to pack for a city.")
    steps: list[object] = [
        str.strip,
        Condition(
            "a city?", lambda text: text.istitle(), [Step("forecast", guiding)], [lambda text: f"Where is {text}?"]
        ),
    ]
    return {
        "agents": [
            guiding,
            packing,
            Agent(book, id="booker", name="Booker", description="Books a room, after you approved it."),
            AgentFactory(
                "tailored",
                object(),
                build,
                name="Tailored guide",
                description="A guide for each request, in the units that its caller likes.",
                input_schema=Taste,
            ),
        ],
        "teams": [Team([guiding, packing], Broadcast(), id="desk", name="Travel desk", description="Asks both.")],
        "workflows": [Workflow(steps, id="trip", name="Trip", description="A forecast, if a city is asked for.")],
    }
