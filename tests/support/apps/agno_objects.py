"""Agents, teams and workflows of agno and pydantic-ai: `spanwise serve support.apps.agno_objects:service`."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agno.agent import Agent as AgnoAgent
from agno.approval import approval
from agno.db.sqlite import SqliteDb
from agno.run import RunContext  # noqa: TC002  # agno reads the types of a tool
from agno.team import Team as AgnoTeam
from agno.tools import tool
from agno.workflow import Condition, Loop, Parallel, Router, Steps
from agno.workflow import Step as AgnoStep
from agno.workflow import Workflow as AgnoWorkflow
from agno.workflow.types import HumanReview, StepInput, StepOutput
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests
from pydantic_ai.models.function import DeltaToolCall, DeltaToolCalls, FunctionModel

from spanwise import Agent, AgentFactory, RequestContext, Service, Team, TeamFactory, Workflow, WorkflowFactory
from spanwise.components import Route
from support.apps.scripted_model import ScriptedModel, tool_call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agno.models.message import Message
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo

FOLDER = Path(os.environ.get("ADAPTED_FOLDER", "."))


def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"sunny in {city}"


@tool(requires_confirmation=True)
def refund(amount: int) -> str:
    """Pays money back."""
    return f"refunded {amount}"


@tool(requires_confirmation=True)
@approval
def launch() -> str:
    """Needs an administrator."""
    return "launched"


@tool(external_execution=True)
def print_label(text: str) -> str:
    """Is executed elsewhere."""
    raise AssertionError(text)


@tool(requires_user_input=True, user_input_fields=["city"])
def travel(city: str) -> str:
    """Asks where to go."""
    return f"went to {city}"


def broken() -> str:
    """Fails."""
    raise RuntimeError("the tool broke")


async def whoami(run_context: RunContext) -> str:
    """Returns the user and session of the run, after runs started at once have begun."""
    state: dict[str, Any] = run_context.session_state or {}
    state["seen"] = [*state.get("seen", []), run_context.user_id]
    await asyncio.sleep(0.05)
    return f"{run_context.user_id} in {run_context.session_id}"


async def _never() -> str:
    await asyncio.sleep(60)
    return "too late"


CALLS = {
    "weather": tool_call("weather", city="Rome"),
    "refund": tool_call("refund", amount=5),
    "whoami": tool_call("whoami"),
    "broken": tool_call("broken"),
    "launch": tool_call("launch"),
    "print": tool_call("print_label", text="fragile"),
    "travel": tool_call("travel"),
}


def answer(messages: Sequence[Message]) -> object:
    """Calls the tool that the message names, reports the result of a tool, or greets."""
    last = messages[-1]
    text = str(last.content)
    if last.role == "tool":
        return ["it ", "is: ", text]
    if "fail" in text:
        return RuntimeError("the model broke")
    if "wait" in text:
        return _never()
    if "recall" in text:
        return f"heard {[str(message.content) for message in messages if message.role == 'user']}"
    return next((call for name, call in CALLS.items() if name in text), ["hello ", "there"])


def lead(messages: Sequence[Message]) -> object:
    last = messages[-1]
    if last.role == "tool":
        return ["the member says: ", str(last.content)]
    return tool_call("delegate_task_to_member", member_id="member", task=str(last.content))


def done(step_input: StepInput) -> StepOutput:
    return StepOutput(content=f"done: {step_input.previous_step_content or step_input.input}")


def patient(step_input: StepInput) -> StepOutput:
    """Blocks its thread until a file exists."""
    deadline = time.monotonic() + 30
    while not (FOLDER / str(step_input.input)).exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return StepOutput(content="found")


def agno_agent(agent_id: str, **options: Any) -> AgnoAgent:
    tools: list[Any] = [weather, refund, broken, whoami, launch, print_label, travel]
    return AgnoAgent(id=agent_id, name=agent_id.title(), model=ScriptedModel(answer=answer), tools=tools, **options)


def agno_team(team_id: str, **options: Any) -> AgnoTeam:
    members: list[Any] = [agno_agent("member", role="knows the weather")]
    return AgnoTeam(id=team_id, name="Tim Team", members=members, model=ScriptedModel(answer=lead), **options)


def agno_workflow(workflow_id: str, **options: Any) -> AgnoWorkflow:
    steps: list[Any] = [AgnoStep(name="ask", agent=agno_agent("asked")), AgnoStep(name="finish", executor=done)]
    return AgnoWorkflow(id=workflow_id, name="Flow", steps=steps, **options)


def confirmed() -> AgnoWorkflow:
    review = HumanReview(requires_confirmation=True, confirmation_message="Finish it?")
    asking = AgnoStep(name="finish", executor=done, human_review=review)
    steps: list[Any] = [asking, AgnoStep(name="again", executor=done)]
    return AgnoWorkflow(id="confirmed", name="Confirmed", steps=steps)


def conditional() -> AgnoWorkflow:
    """Returns a workflow with a condition that the caller decides."""
    decide = Condition(
        name="sure",
        steps=[AgnoStep(name="yes", executor=done)],
        else_steps=[AgnoStep(name="no", executor=lambda _: StepOutput(content="no"))],
        human_review=HumanReview(requires_confirmation=True, on_reject="else"),
    )
    return AgnoWorkflow(id="conditional", name="Conditional", steps=[decide])


def choosing() -> AgnoWorkflow:
    """Returns a workflow with a route that the caller chooses."""
    choices: list[Any] = [AgnoStep(name=name, executor=done) for name in ("left", "right")]
    router = Router(name="way", choices=choices, human_review=HumanReview(requires_user_input=True))
    return AgnoWorkflow(id="choosing", name="Choosing", steps=[router])


def nameless() -> AgnoWorkflow:
    """Returns a workflow whose parts have no names."""
    asked: Any = agno_agent("nobody")
    asked.name = None
    step: Any = AgnoStep(executor=done)
    selector: Any = lambda _: "done"  # noqa: E731  # agno's annotation does not admit names
    compounds: list[Any] = [
        Condition(evaluator=lambda _: True, steps=[AgnoStep(executor=done)]),
        Parallel(step),
        Loop(steps=[AgnoStep(executor=done)], max_iterations=1),
        Router(selector=selector, choices=[done]),
        Steps(steps=[AgnoStep(executor=done)]),
    ]
    return AgnoWorkflow(id="nameless", steps=[asked, AgnoStep(agent=asked), *compounds])


async def pydantic_answer(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    part = messages[-1].parts[-1]
    text = str(part.content) if hasattr(part, "content") else ""
    if part.part_kind != "user-prompt":
        yield "it is: "
        yield text
    elif "fail" in text:
        raise RuntimeError("the model broke")
    elif "wait" in text:
        yield await _never()
    elif "refund" in text:
        yield {0: DeltaToolCall(name="refund", json_args='{"amount": 5}', tool_call_id="c1")}
    elif "weather" in text:
        yield {0: DeltaToolCall(name="weather", json_args='{"city": "Rome"}', tool_call_id="c2")}
    else:
        yield "hello "
        yield "there"


helper = PydanticAgent(
    FunctionModel(stream_function=pydantic_answer), name="helper", output_type=[str, DeferredToolRequests]
)
helper.tool_plain(weather)


@helper.tool_plain(name="refund", requires_approval=True)
def approved_refund(amount: int) -> str:
    return f"refunded {amount}"


def database() -> SqliteDb:
    return SqliteDb(db_file=str(FOLDER / "agno.db"), id="theirs")


def built(context: RequestContext) -> AgnoAgent:
    return agno_agent("another", description=f"for {context.user_id}")


def built_team(_context: RequestContext) -> AgnoTeam:
    return agno_team("built-team")


def built_workflow(_context: RequestContext) -> AgnoWorkflow:
    return agno_workflow("built-workflow")


service = Service(
    agents=[
        agno_agent("ann"),
        agno_agent("keeper", db=database(), add_history_to_context=True),
        agno_agent("dependent", add_dependencies_to_context=True),
        agno_agent("imposter", user_id="mallory", session_id="theirs"),
        AgentFactory("built", database(), built),
        helper,
        Agent(lambda message: message.upper(), id="upper", name="Upper"),
    ],
    teams=[
        agno_team("tim", db=database()),
        TeamFactory("built-team", database(), built_team),
        Team([agno_agent("ann"), helper], Route(lambda text: "helper" if "please" in text else "ann"), id="mixed"),
    ],
    workflows=[
        agno_workflow("flow"),
        confirmed(),
        conditional(),
        choosing(),
        nameless(),
        AgnoWorkflow(
            id="patient", name="Patient", steps=[Steps(name="all", steps=[AgnoStep("wait", executor=patient)])]
        ),
        WorkflowFactory("built-workflow", database(), built_workflow),
        Workflow([agno_agent("ann"), str.upper], id="mixed-steps"),
    ],
)
