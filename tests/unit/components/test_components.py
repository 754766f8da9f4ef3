"""Agents, teams and workflows without a service: their events, spans and results."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import pytest

from spanwise.components import (
    Agent,
    Broadcast,
    Call,
    Component,
    Condition,
    Coordinate,
    Delegate,
    Kind,
    Outcome,
    Pause,
    Route,
    Step,
    Team,
    Workflow,
    as_component,
)
from spanwise.components.perform import perform
from spanwise.errors import ComponentError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Seen:
    """Records the events of a component and the names of its spans."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.spans: list[tuple[str, str]] = []

    @contextmanager
    def span(self, name: str, kind: str, _content: str | None, _attributes: object) -> Iterator[Any]:
        self.spans.append((name, kind))
        yield self

    def made_elsewhere(self, _attributes: object) -> NoReturn:
        raise AssertionError("our components make spans of their own")

    def output(self, content: str | None) -> None:
        assert content is None or isinstance(content, str)

    def attribute(self, name: str, value: str | float) -> None:
        """Ignores the output."""

    @property
    def names(self) -> list[str]:
        return [event["event"] for event in self.events]

    def call(self, message: str = "hi", **members: Any) -> Call:
        return Call(
            message=message,
            run_id="r",
            session_id="s",
            user_id="u",
            spans=self,
            emit_event=self.events.append,
            **members,
        )

    def run(self, component: Component, message: str = "hi", **members: Any) -> Outcome:
        return asyncio.run(perform(component, self.call(message, **members)))

    def go_on(self, component: Component, paused: Outcome, *answers: dict[str, Any]) -> Outcome:
        assert paused.pause is not None
        state = msgspec.json.decode(msgspec.json.encode(paused.pause.state))  # it survives a restart
        return self.run(component, is_continued=True, state=state, answers=answers)


def upper(message: str) -> str:
    return message.upper()


def twice(message: str) -> Iterator[str]:
    yield message
    yield message


async def twice_async(message: str) -> AsyncIterator[str]:
    yield message
    yield message


async def who(message: str, call: Call) -> str:
    await asyncio.sleep(0)
    return f"{message} {call.user_id}"


def ask(message: str, call: Call) -> Iterator[object]:
    if call.is_continued:
        yield f"{message}: {call.answers[0]['confirmation']}, {call.state}"
    else:
        yield "wait"
        yield Pause([{"question": "sure?"}], state="kept")


class Shouting:
    def __call__(self, message: str) -> str:
        return message + "!"


@pytest.mark.parametrize(
    ("function", "pieces"),
    [(upper, ["HI"]), (twice, ["hi", "hi"]), (twice_async, ["hi", "hi"]), (who, ["hi u"]), (Shouting(), ["hi!"])],
)
def test_an_agent_is_any_callable(function: Any, pieces: list[str]) -> None:
    seen = Seen()
    assert seen.run(Agent(function, id="a")).content == "".join(pieces)
    assert [event["content"] for event in seen.events if event["event"] == "RunContent"] == pieces
    assert (seen.names[0], seen.names[-1]) == ("RunStarted", "RunContentCompleted")
    assert all(event["agent_id"] == "a" for event in seen.events)


def test_an_agent_may_return_an_object() -> None:
    assert Seen().run(Agent(lambda _: {"n": 1}, id="a")).text == '{"n":1}'


@pytest.mark.parametrize("function", [lambda: 1, lambda a, b, c: (a, b, c), "text", lambda a, *, b: (a, b)])
def test_what_cannot_be_called_with_a_message_is_no_agent(function: Any) -> None:
    with pytest.raises(TypeError):
        Agent(function)


def test_a_function_may_pause_too() -> None:
    def decide(message: str, call: Call) -> object:
        return f"{message} {call.answers[0]['n']}" if call.is_continued else Pause([{"n": None}])

    seen, agent = Seen(), Agent(decide, id="a")
    assert seen.go_on(agent, seen.run(agent), {"n": 1}).content == "hi 1"


def raising(error: BaseException) -> Any:
    def run(_message: str) -> str:
        raise error

    async def stream(_message: str) -> AsyncIterator[str]:
        yield "a"
        raise error

    return run, stream


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()], ids=repr
)
def test_what_a_callable_raises_ends_only_its_run(error: BaseException) -> None:
    for function in raising(error):
        with pytest.raises(Exception, match=r".*"):
            Seen().run(Agent(function, id="a"))


@pytest.mark.parametrize("yielded", [1, None, object()])
def test_a_generator_yields_text_or_a_pause(yielded: object) -> None:
    def run(_message: str) -> Iterator[object]:
        yield yielded

    with pytest.raises(ComponentError, match="expected text or a pause"):
        Seen().run(Agent(run, id="a"))


def test_an_agent_pauses_and_goes_on() -> None:
    seen, agent = Seen(), Agent(ask, id="a")
    paused = seen.run(agent)
    assert paused.pause is not None
    assert paused.pause.requirements[0]["question"] == "sure?"
    assert paused.pause.requirements[0]["id"]
    assert seen.go_on(agent, paused, {"confirmation": True}).content == "hi: True, kept"
    assert "RunContinued" in seen.names


@pytest.mark.parametrize(("requirements", "state"), [([], None), ([{"a": object()}], None), ([{}], object())])
def test_a_pause_holds_what_json_can(requirements: Any, state: object) -> None:
    with pytest.raises(ValueError, match="a pause"):
        Pause(requirements, state)


def members() -> list[Component]:
    return [Agent(upper, id="upper"), Agent(twice, id="twice")]


def test_a_team_routes() -> None:
    seen = Seen()
    outcome = seen.run(Team(members(), Route(lambda _: "twice"), id="t"))
    assert outcome.content == "hihi"
    assert [response["agent_id"] for response in outcome.parts["member_responses"]] == ["twice"]
    assert seen.names[0] == "TeamRunStarted"
    nested = next(event for event in seen.events if event["event"] == "RunCompleted")
    assert (nested["nested_depth"], nested["parent_run_id"], nested["agent_id"]) == (1, "r", "twice")
    assert seen.spans == [("t.run", "AGENT"), ("twice.run", "AGENT")]


def test_a_team_broadcasts() -> None:
    assert Seen().run(Team(members(), Broadcast(), id="t")).content == "HI\n\nhihi"
    assert Seen().run(Team(members(), Broadcast(lambda a: a["twice"] + a["upper"]), id="t")).content == "hihiHI"


def test_a_team_coordinates() -> None:
    async def lead(message: str, delegate: Delegate) -> str:
        return await delegate("upper", await delegate("twice", message))

    outcome = Seen().run(Team(members(), Coordinate(lead), id="t"))
    assert outcome.content == "HIHI"
    assert [response["agent_id"] for response in outcome.parts["member_responses"]] == ["twice", "upper"]


def test_a_team_needs_members_it_can_tell_apart() -> None:
    for wrong in ([], [Agent(upper)], [Agent(upper, id="a")] * 2, [Workflow([upper], id="w")]):
        with pytest.raises(ConfigurationError):
            Team(wrong, Broadcast(), id="t")


@pytest.mark.parametrize("chosen", ["nobody", None, 1])
def test_a_route_to_nobody_fails(chosen: object) -> None:
    with pytest.raises(ComponentError, match="has no member"):
        Seen().run(Team(members(), Route(lambda _: chosen), id="t"))


@pytest.mark.parametrize("mode", [Route(lambda _: "asking"), Broadcast()])
def test_a_member_pauses_and_goes_on(mode: Any) -> None:
    team = Team([Agent(ask, id="asking"), *members()], mode, id="t")
    seen = Seen()
    paused = seen.run(team)
    assert paused.pause is not None
    assert paused.pause.requirements[0]["member_agent_id"] == "asking"
    assert seen.go_on(team, paused, {"confirmation": False}).content.startswith("hi: False, kept")
    ran = [event["agent_id"] for event in seen.events if event["event"] == "RunStarted"]
    assert len(ran) == len(set(ran)), "a member ran twice"


def test_a_failing_member_fails_a_broadcast_with_its_own_error() -> None:
    function, _ = raising(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        Seen().run(Team([Agent(function, id="f"), *members()], Broadcast(), id="t"))


def nested() -> Workflow:
    long = Condition("long?", lambda text: len(text) > 3, [Step("shout", Shouting())], [twice, upper])
    inner = Workflow([long], id="inner")
    return Workflow([upper, Step("agent", Agent(twice, id="a")), inner, Team(members(), Broadcast(), id="t")], id="w")


def test_a_workflow_runs_its_steps_in_order() -> None:
    seen = Seen()
    outcome = seen.run(nested())
    assert outcome.content == "HIHI!\n\nHIHI!HIHI!"
    assert [(r["step_name"], r["step_type"]) for r in outcome.parts["step_results"]] == [
        ("upper", "function"),
        ("agent", "Step"),
        ("inner", "Step"),
        ("t", "Team"),
    ]
    assert [r["status"] for r in outcome.parts["step_executor_runs"]] == ["COMPLETED"] * 3
    assert [event["branch"] for event in seen.events if event["event"] == "ConditionExecutionCompleted"] == ["if"]
    started = next(event for event in seen.events if event["event"] == "RunStarted")
    assert (started["workflow_id"], started["workflow_run_id"], started["step_name"]) == ("w", "r", "agent")


@pytest.mark.parametrize(("message", "content"), [("long", "LONG"), ("s", "ss")])
def test_a_condition_has_two_branches(message: str, content: str) -> None:
    condition = Condition("long?", lambda text: len(text) > 3, [upper], [twice])
    assert Seen().run(Workflow([condition], id="w"), message).content == content


def test_a_condition_without_an_else_passes_the_text_on() -> None:
    assert Seen().run(Workflow([Condition("no", lambda _: False, [upper])], id="w")).content == "hi"


def test_a_step_deep_inside_pauses_and_goes_on() -> None:
    runs: list[str] = []

    def count(message: str) -> str:
        runs.append(message)
        return message + "1"

    asking = Workflow([count, Team([Agent(ask, id="asking")], Broadcast(), id="t"), upper], id="inner")
    workflow = Workflow([count, Condition("yes", lambda _: True, [count, asking]), Shouting()], id="w")
    seen = Seen()
    paused = seen.run(workflow)
    assert paused.pause is not None
    assert seen.go_on(workflow, paused, {"confirmation": True}).content == "HI111: TRUE, KEPT!"
    assert runs == ["hi", "hi1", "hi11"]
    assert "StepContinued" in seen.names


def test_a_failing_step_says_so() -> None:
    function, _ = raising(ValueError("secret"))
    seen = Seen()
    with pytest.raises(ValueError, match="secret"):
        seen.run(Workflow([Step("bad", Agent(function, id="f"))], id="w"))
    assert seen.names[-2:] == ["RunError", "StepError"]
    assert "secret" not in repr(seen.events)


@pytest.mark.parametrize("steps", [[], [1], [lambda: 1], [Step]])
def test_what_is_no_step_is_rejected(steps: Any) -> None:
    with pytest.raises(ConfigurationError):
        Workflow(steps, id="w")


class Foreign:
    """An agent of another framework, as an adapter presents it."""

    kind = Kind.AGENT
    id = "foreign"
    name = description = db = model = None
    store_events = False

    def initialize(self) -> None:
        """Needs no preparation."""

    def describe(self) -> dict[str, Any]:
        return {}

    async def execute(self, call: Call) -> Outcome:
        return Outcome(content=f"foreign {call.message}")


def test_whatever_satisfies_the_protocol_is_a_component() -> None:
    assert Seen().run(as_component(Foreign(), Kind.AGENT)).content == "foreign hi"
    with pytest.raises(ConfigurationError, match="need an adapter"):
        as_component(object(), Kind.AGENT)
    with pytest.raises(ConfigurationError, match="got the agent `foreign`"):
        as_component(Foreign(), Kind.TEAM)
