"""Adapters: which foreign objects are adapted or rejected, and that no other module imports a framework."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from agno.agent import Agent as AgnoAgent
from agno.db.in_memory import InMemoryDb
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.test import TestModel

from spanwise import AgentFactory, RequestContext, Service, TeamFactory, WorkflowFactory
from spanwise.components import Agent, Call, Component, Kind, Outcome, Team, Workflow, as_component
from spanwise.components.adapted import Adapted
from spanwise.components.adapters.agno_requirements import resolve_requirements
from spanwise.components.adapting import component_or_none
from spanwise.components.team import Broadcast
from spanwise.errors import BadRequestError, ConfigurationError, FactoryError
from spanwise.traces.recording.proxy_tracer import PROXY_PROVIDER, proxying_to
from support.apps.agno_objects import agno_agent, agno_team, agno_workflow, confirmed, database, helper
from support.in_process.components import Recorder

if TYPE_CHECKING:
    from pathlib import Path

    from opentelemetry.trace import Span


def test_importing_the_service_imports_no_framework() -> None:
    code = "import sys, spanwise, spanwise.app; print([n for n in sys.modules if n.startswith(('agno', 'pydantic'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_agno_that_the_program_instrumented_itself_is_left_alone() -> None:
    code = (
        "from agno.agent import Agent; from support.apps.scripted_model import ScriptedModel;"
        "from spanwise.components import as_component;"
        "from openinference.instrumentation.agno import AgnoInstrumentor as Theirs; Theirs().instrument();"
        "found = as_component(Agent(id='a', model=ScriptedModel())); found.initialize(); print(found.is_instrumented)"
    )
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": path}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.strip() == "False"
    assert "agno was instrumented before" in found.stderr


@pytest.mark.parametrize(
    ("found", "kind", "component_id"),
    [
        (agno_agent("a"), Kind.AGENT, "a"),
        (agno_team("t"), Kind.TEAM, "t"),
        (agno_workflow("w"), Kind.WORKFLOW, "w"),
        (helper, Kind.AGENT, "helper"),
    ],
)
def test_an_object_of_a_framework_is_a_component(found: object, kind: Kind, component_id: str) -> None:
    component = as_component(found, kind)
    assert isinstance(component, Component)
    assert isinstance(component, Adapted)
    assert (component.kind, component.id) == (kind, component_id)
    others = set(Kind) - {kind}
    for other in others:
        with pytest.raises(ConfigurationError, match=f"expected an? {other}, got the {kind}"):
            as_component(found, other)


@pytest.mark.parametrize("name", ["Weather Agent", "weather_agent"])
def test_an_agent_without_an_id_has_that_of_its_name(name: str) -> None:
    assert as_component(AgnoAgent(name=name)).id == "weather-agent"
    assert as_component(PydanticAgent(TestModel(), name=name)).id == "weather-agent"


@pytest.mark.parametrize("found", [AgnoAgent, object(), "text", None, InMemoryDb, 5])
def test_any_other_object_is_not_adapted(found: object) -> None:
    assert component_or_none(found) is None
    with pytest.raises(ConfigurationError, match="objects of other frameworks need an adapter"):
        as_component(found)


def test_one_without_id_and_name_is_rejected() -> None:
    for nameless in (AgnoAgent(), PydanticAgent(TestModel())):
        with pytest.raises(ConfigurationError, match="every agent needs an id"):
            Service(agents=[nameless])


def test_a_framework_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spanwise.components.adapters.agno", None)
    with pytest.raises(ConfigurationError, match=r"objects of `agno` need `pip install 'spanwise\[agno\]'`"):
        component_or_none(agno_agent("a"))


def test_a_factory_fills_what_its_product_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.apps.agno_objects.FOLDER", tmp_path)
    own, theirs = database(), database()
    products: list[Any] = [agno_agent("other"), agno_agent("other", db=own)]
    waiting = iter(products)
    factory = AgentFactory("mine", theirs, lambda _context: next(waiting))
    for product, db in zip(products, (theirs, own), strict=True):
        component = factory.resolve(RequestContext())
        assert (component.id, product.id, product.db, product.store_events) == ("mine", "mine", db, True)
        assert isinstance(component, Adapted)
        assert not component.is_shared


def test_a_db_that_is_not_agnos_is_rejected() -> None:
    factory = AgentFactory("mine", object(), lambda _context: agno_agent("mine"))
    with pytest.raises(FactoryError, match=r"expected an agno db, got `builtins\.object`"):
        factory.resolve(RequestContext())


@pytest.mark.parametrize(
    ("kind", "product"),
    [(AgentFactory, agno_agent("x")), (TeamFactory, agno_team("x")), (WorkflowFactory, agno_workflow("x"))],
)
def test_a_factory_that_returns_an_object_of_agno_twice_is_rejected(kind: Any, product: object) -> None:
    db = InMemoryDb()  # type: ignore[no-untyped-call]  # the library has no types
    factory = kind("x", db, lambda _context: product)
    factory.resolve(RequestContext())
    with pytest.raises(FactoryError, match="returned before"):
        factory.resolve(RequestContext())


def test_teams_and_workflows_take_objects_of_frameworks() -> None:
    team = Team([agno_agent("a"), helper, Agent(str.upper, id="b")], Broadcast(), id="t")
    assert [type(member).__name__ for member in team.members.values()][2] == "Agent"
    team.initialize()
    workflow = Workflow([agno_team("t"), helper, str.upper], id="w")
    assert [(step["name"], step["type"]) for step in workflow.describe()["steps"]] == [
        ("Tim Team", "Team"),
        ("helper", "Agent"),
        ("upper", "function"),
    ]
    with pytest.raises(ConfigurationError, match="expected agents and teams as members"):
        Team([confirmed()], Broadcast(), id="t")
    with pytest.raises(ConfigurationError, match="expected a callable, got `int`"):
        Workflow([5], id="w")


WAITING: dict[str, Any] = {
    "run_id": "r",
    "tools": [
        {"tool_call_id": "c", "tool_name": "refund", "tool_args": {"amount": 5}, "requires_confirmation": True},
        {"tool_call_id": "e", "tool_name": "print", "external_execution_required": True},
        {"tool_call_id": "u", "tool_name": "ask", "user_input_schema": [{"name": "a", "value": None}]},
        {"tool_call_id": "d", "tool_name": "done", "result": "as it was"},
    ],
    "requirements": [
        {"id": "1", "tool_execution": {"tool_call_id": "c", "tool_name": "refund"}},
        {"id": "2", "tool_execution": {"tool_call_id": "e", "external_execution_required": True}},
    ],
}


@pytest.mark.parametrize(
    ("answer", "call_id", "taken"),
    [
        ({"tool_call_id": "c", "confirmed": True}, "c", {"confirmed": True}),
        (
            {"id": "1", "confirmation": False, "confirmation_note": "no"},
            "c",
            {"confirmed": False, "confirmation_note": "no"},
        ),
        ({"id": "x", "tool_execution": {"tool_call_id": "c", "confirmed": True}}, "c", {"confirmed": True}),
        ({"tool_call_id": "c", "tool_args": {}, "tool_name": "x", "approval_type": "audit"}, "c", {}),
        ({"tool_call_id": "c", "result": "forged"}, "c", {"result": None}),
        ({"tool_call_id": "d", "result": "forged"}, "d", {}),
        ({"tool_call_id": "e", "result": "printed"}, "e", {"result": "printed"}),
        ({"id": "2", "external_execution_result": "printed"}, "e", {"result": "printed"}),
        (
            {"tool_call_id": "u", "answered": True, "user_input_schema": [{"name": "a", "value": 5}, {"name": "b"}]},
            "u",
            {"answered": True, "user_input_schema": [{"name": "a", "value": 5}]},
        ),
    ],
)
def test_only_the_decision_is_taken_from_an_answer(answer: dict[str, Any], call_id: str, taken: dict[str, Any]) -> None:
    found = resolve_requirements(WAITING, [answer])
    before, after = ({tool["tool_call_id"]: tool for tool in each["tools"]}[call_id] for each in (WAITING, found))
    assert {"result": None, **after} == {"result": None, **before, **taken}
    assert "confirmed" not in str(WAITING)


@pytest.mark.parametrize(
    "answers",
    [
        [{}],
        [{"tool_call_id": "other"}],
        [{"id": "x", "tool_execution": None}],
        [{"id": 1}],
        [{"tool_call_id": "c", "confirmed": "yes"}],
        [{"tool_call_id": "u", "user_input_schema": 5}],
        [{"tool_call_id": ["c"]}],
    ],
)
def test_invalid_answers_are_rejected_before_the_run_resumes(answers: list[Any]) -> None:
    async def check() -> None:
        agent: Any = as_component(agno_agent("a"))
        await agent.check_answers({"output": WAITING}, answers)

    with pytest.raises(BadRequestError, match="expected"):
        asyncio.run(check())


@pytest.mark.parametrize("answers", [[{}], [{"tool_call_id": "other"}], [{"id": "c", "tool_execution": 5}]])
def test_answers_for_pydantic_ai_name_a_call(answers: list[Any]) -> None:
    agent: Any = as_component(helper)
    with pytest.raises(BadRequestError, match="expected"):
        asyncio.run(agent.check_answers({"approvals": ["c"], "calls": []}, answers))


def test_spans_outside_of_runs_go_to_the_provider_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    theirs = TracerProvider()
    theirs.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: theirs)
    tracer = PROXY_PROVIDER.get_tracer("instrumentor", "1")
    hosted: list[str] = []

    class Host:
        def start_proxy_span(self, _scope: object, name: str, options: dict[str, Any]) -> Span:
            hosted.append(name)
            return theirs.get_tracer("host").start_span(name, **options)

    with tracer.start_as_current_span("outside"):
        pass
    with proxying_to(Host()), tracer.start_as_current_span("inside"):
        pass
    assert hosted == ["inside"]
    assert [
        (span.name, span.instrumentation_scope and span.instrumentation_scope.name)
        for span in exporter.get_finished_spans()
    ] == [("outside", "instrumentor"), ("inside", "host")]


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
    assert Recorder().run(as_component(Foreign(), Kind.AGENT)).content == "foreign hi"
    with pytest.raises(ConfigurationError, match="need an adapter"):
        as_component(object(), Kind.AGENT)
    with pytest.raises(ConfigurationError, match="got the agent `foreign`"):
        as_component(Foreign(), Kind.TEAM)
