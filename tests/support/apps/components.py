"""Components of every kind for live tests: `spanwise serve support.apps.components:service`."""

from __future__ import annotations

import asyncio
import json
import os
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise import Service
from spanwise.components import Agent, Broadcast, Call, Condition, Pause, Route, Step, Team, Workflow
from spanwise.errors import FactoryError, FactoryPermissionError, FactoryValidationError
from spanwise.factories import AgentFactory, RequestContext, TeamFactory, WorkflowFactory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

CALLS = Path(os.environ.get("HOSTED_CALLS", os.devnull))
"""Every call of a factory is appended to this file."""


def upper(message: str) -> str:
    return message.upper()


async def words(message: str) -> AsyncIterator[str]:
    for word in message.split(" "):
        yield word + " "


async def weather(message: str, call: Call) -> str:
    with call.span("get_weather", "TOOL", message) as span:
        await asyncio.sleep(0)
        span.output("sunny")
    call.session_state["asked"] = call.session_state.get("asked", 0) + 1
    return f"{message}: sunny, for {call.user_id}"


def describe_call(_message: str, call: Call) -> str:
    return " ".join(json.dumps(dict(each)) for each in (call.session_state, call.dependencies, call.metadata))


async def slow(message: str) -> AsyncIterator[str]:
    yield message
    await asyncio.sleep(60)


async def soon(message: str) -> AsyncIterator[str]:
    yield message
    await asyncio.sleep(1)
    yield " done"


def stubborn(message: str) -> str:
    time.sleep(60)
    return message


def failing(_message: str) -> str:
    raise ValueError("the secret cause")


def leaving(_message: str) -> str:
    raise SystemExit(3)


def forging(_message: str) -> str:
    return "a\n\nevent: RunCompleted\ndata: {}\n\n\x00\u2028\u2029\x85id: 7\r\n"


def asking(message: str, call: Call) -> Iterator[object]:
    if call.is_continued:
        yield f"{message}: {call.answers[0]['confirmation']}"
    else:
        yield Pause([{"confirmation": None}], state={"asked": message})


class Size(msgspec.Struct):
    size: int


def record_call(factory: str, context: RequestContext) -> None:
    with CALLS.open("a") as calls:
        calls.write(f"{factory} {msgspec.json.encode(msgspec.to_builtins(context.input)).decode()}\n")


def build_agent(context: RequestContext) -> Agent:
    record_call("agent", context)
    caller = f"{context.user_id} {context.session_id} {dict(context.trusted.claims)} {sorted(context.trusted.scopes)}"
    return Agent(lambda message: f"{message} {caller}", name="Built")


def build_asking(context: RequestContext) -> Agent:
    record_call("asking", context)
    return Agent(asking)


def build_sized(context: RequestContext) -> Agent:
    record_call("sized", context)
    return Agent(lambda message: message * context.input.size)


async def build_team(context: RequestContext) -> Team:
    record_call("team", context)
    return Team([Agent(asking, id="member")], Broadcast())


def build_workflow(context: RequestContext) -> Workflow:
    record_call("workflow", context)
    return Workflow([asking, upper])


RAISED: dict[str, Any] = {
    "permission": FactoryPermissionError("not you"),
    "factory": FactoryError("broken"),
    "value": ValueError("broken"),
    "exit": SystemExit(1),
    "interrupt": KeyboardInterrupt(),
    "recursion": RecursionError("too deep"),
    "generator exit": GeneratorExit(),
    "stop": StopIteration(),
    "timeout": TimeoutError("not the deadline"),
    "cancelled": asyncio.CancelledError(),
    "validation": FactoryValidationError("not like this"),
}


def build_raising(context: RequestContext) -> Agent:
    raise RAISED[context.input["raise"]]


def build_raising_workflow(context: RequestContext) -> Workflow:
    raise RAISED[context.input["raise"]]


async def build_raising_later(context: RequestContext) -> Workflow:
    await asyncio.sleep(0)
    raise RAISED[context.input["raise"]]


SHARED = Workflow([upper])
RETURNED: dict[str, Any] = {
    "none": lambda: None,
    "class": lambda: Workflow,
    "agent": lambda: Agent(upper),
    "coroutine": lambda: asyncio.sleep(0),
    "generator": lambda: (letter for letter in "text"),
    "shared": lambda: SHARED,
    "text": lambda: "workflow",
}


def build_returning(context: RequestContext) -> Any:
    return RETURNED[context.input["return"]]()


def build_sized_workflow(context: RequestContext) -> Workflow:
    record_call("sized workflow", context)
    return Workflow([lambda message: message * context.input.size])


_serial = count(1)


class Counted:
    """A callable that a factory creates for a single request."""

    def __init__(self, context: RequestContext) -> None:
        self.context = context
        self.serial = next(_serial)

    async def __call__(self, message: str) -> str:
        await asyncio.sleep(0.01)
        request = {"message": message, "user": self.context.user_id, "session": self.context.session_id}
        return json.dumps({**request, **self.context.input, "serial": self.serial})


async def build_counted(context: RequestContext) -> Workflow:
    record_call("counted", context)
    await asyncio.sleep(0)
    return Workflow([Counted(context)])


def build_sleeping(_context: RequestContext) -> Workflow:
    time.sleep(0.4)
    return Workflow([upper])


async def long_winded(message: str, call: Call) -> str:
    """Emits the number of mebibytes of events that the message names."""
    for _ in range(int(message) * 16):
        call.emit(LONG_WINDED, "CustomEvent", content="x" * 64 * 1024)
        await asyncio.sleep(0)
    return "said"


def build_tampering(context: RequestContext) -> Workflow:
    """Tries to change its context. The workflow returns the attempts that succeeded."""
    attempts: dict[str, Any] = {
        "claims": lambda: context.trusted.claims.__setitem__("sub", "eve"),  # type: ignore[index]
        "nested": lambda: context.trusted.claims["nested"].__setitem__("a", 2),
        "scopes": lambda: context.trusted.scopes.add("agent_os:admin"),  # type: ignore[attr-defined]
        "replace": lambda: object.__getattribute__(context.trusted.claims, "update")({"sub": "eve"}),
        "context": lambda: setattr(context, "user_id", "eve"),
        "trusted": lambda: setattr(context.trusted, "claims", {}),
    }
    done = [name for name, attempt in attempts.items() if _succeeds(attempt)]
    report = f"{done} {context.trusted.claims.get('sub')} {sorted(context.trusted.scopes)} {context.user_id}"
    return Workflow([lambda _message: report])


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (AttributeError, TypeError, KeyError):
        return False
    return True


async def hang(_context: RequestContext) -> Agent:
    await asyncio.sleep(60)
    return Agent(upper)


DB = object()
LONG_WINDED = Workflow([long_winded], id="long-winded")
members = [Agent(upper, id="upper"), Agent(words, id="words", name="Words")]
service = Service(
    agents=[
        Agent(words, id="echo", name="Echo Agent", description="says it again"),
        Agent(weather, id="weather", name="Weather", model="stub-1", store_events=True),
        Agent(slow, id="slow"),
        Agent(soon, id="soon"),
        Agent(stubborn, id="stubborn"),
        Agent(failing, id="failing"),
        Agent(leaving, id="leaving"),
        Agent(forging, id="forging"),
        Agent(asking, id="asking"),
        AgentFactory("built", DB, build_agent, description="one for each request"),
        AgentFactory("built-asking", DB, build_asking, input_schema=Size),
        AgentFactory("sized", DB, build_sized, input_schema=Size),
        AgentFactory("raising", DB, build_raising),
        AgentFactory("hanging", DB, hang),
        AgentFactory("wrong", DB, lambda _: Workflow([upper])),
    ],
    teams=[
        Team(members, Route(lambda message: "words" if " " in message else "upper"), id="route", name="Router"),
        Team(members, Broadcast(), id="broadcast"),
        TeamFactory("built", DB, build_team),
    ],
    workflows=[
        Workflow(
            [
                upper,
                Step("say", Agent(words, id="words", name="Words")),
                Condition("long?", lambda text: len(text) > 5, [Team(members, Broadcast(), id="both")], [upper]),
            ],
            id="steps",
            name="Steps",
        ),
        Workflow([Step("slow", Agent(slow, id="slow"))], id="slow"),
        Workflow([Step("soon", Agent(soon, id="soon"))], id="soon"),
        Workflow([describe_call], id="told"),
        Workflow([Agent(weather, id="weather"), Agent(slow, id="slow")], id="long", name="Long"),
        WorkflowFactory("built", DB, build_workflow),
        WorkflowFactory("raising", DB, build_raising_workflow),
        WorkflowFactory("raising-later", DB, build_raising_later),
        WorkflowFactory("returning", DB, build_returning),
        WorkflowFactory("sized", DB, build_sized_workflow, input_schema=Size),
        WorkflowFactory("tampering", DB, build_tampering),
        WorkflowFactory("counted", DB, build_counted),
        WorkflowFactory("sleeping", DB, build_sleeping),
        LONG_WINDED,
    ],
    settings={"factory_deadline_seconds": 2.0},
)
