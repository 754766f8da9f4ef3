"""Component factories, without a service."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
import pytest

from spanwise.components import Agent, Kind, Team, Workflow
from spanwise.components.team import Broadcast
from spanwise.errors import (
    ConfigurationError,
    FactoryContextRequired,
    FactoryError,
    FactoryPermissionError,
    FactoryValidationError,
)
from spanwise.factories import AgentFactory, Factory, RequestContext, TeamFactory, TrustedContext, WorkflowFactory
from spanwise.factories.schema import json_schema, parse_input
from spanwise.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

DB = object()
KINDS = [AgentFactory, TeamFactory, WorkflowFactory]


def echo(message: str) -> str:
    return message


def never(_context: RequestContext) -> Agent:
    raise AssertionError


def product_of(kind: Kind, **settings: Any) -> Any:
    match kind:
        case Kind.AGENT:
            return Agent(echo, **settings)
        case Kind.TEAM:
            return Team([Agent(echo, id="member")], Broadcast(), **settings)
        case Kind.WORKFLOW:
            return Workflow([echo], **settings)


def resolve(factory: Factory, context: RequestContext | None = None, **options: Any) -> Any:
    return asyncio.run(factory.resolve_async(context or RequestContext(), **options))


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_and_a_db_are_required(kind: type[Factory]) -> None:
    with pytest.raises(ValueError, match="expected an id"):
        kind("", DB, never)
    with pytest.raises(ValueError, match="expected a db"):
        kind("x", None, never)


@pytest.mark.parametrize(
    "agents",
    [
        [Agent(echo, id="a"), Agent(echo, id="a")],
        [Agent(echo, id="a"), AgentFactory("a", DB, never)],
        [Agent(echo)],
        [Agent(echo, id="a/b")],
        [object()],
        [Agent],
        [Workflow([echo], id="w")],
        [TeamFactory("t", DB, never)],
    ],
)
def test_an_ambiguous_registry_does_not_start(agents: list[object]) -> None:
    with pytest.raises(ConfigurationError):
        Registry({Kind.AGENT: agents})


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_gets_the_documented_members(kind: type[Factory], caplog: pytest.LogCaptureFixture) -> None:
    initialized: list[str] = []

    def build(_context: RequestContext) -> Any:
        product = product_of(kind.kind, id="other")
        product.initialize = lambda: initialized.append(product.id)
        return product

    product = resolve(kind("ours", DB, build))
    assert (product.id, product.db, product.store_events, initialized) == ("ours", DB, True, ["ours"])
    assert "built `other`" in caplog.text


def test_a_product_keeps_its_own_db() -> None:
    own = object()
    assert resolve(AgentFactory("a", DB, lambda _: Agent(echo, id="a", db=own))).db is own


def test_a_thousand_runs_get_a_thousand_components() -> None:
    calls: list[RequestContext] = []

    async def build(context: RequestContext) -> Agent:
        calls.append(context)
        await asyncio.sleep(0)
        return Agent(echo, name=context.user_id)

    async def run() -> list[Any]:
        factory = AgentFactory("a", DB, build)
        return await asyncio.gather(*(factory.resolve_async(RequestContext(user_id=str(n))) for n in range(1000)))

    products = asyncio.run(run())
    assert (len(calls), len({id(product) for product in products})) == (1000, 1000)
    assert [product.name for product in products] == [str(n) for n in range(1000)]


def test_a_component_that_was_returned_before_is_rejected() -> None:
    cached = Agent(echo)
    factory = AgentFactory("a", DB, lambda _: cached)
    resolve(factory)
    with pytest.raises(FactoryError, match="returned before"):
        resolve(factory)


async def coroutine() -> None:
    """A coroutine that a factory returns by mistake."""


@pytest.mark.parametrize(
    "returned",
    [lambda: None, lambda: Agent, lambda: Workflow([echo]), coroutine, lambda: iter([1]), lambda: "text"],
)
def test_a_wrong_product_is_a_factory_error(returned: Callable[[], object]) -> None:
    with pytest.raises(FactoryError) as caught:
        resolve(AgentFactory("a", DB, lambda _: returned()))
    assert caught.value.status == 500


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    ("raised", "status"),
    [
        (FactoryValidationError("no"), 400),
        (FactoryPermissionError("no"), 403),
        (FactoryError("no"), 500),
        (ValueError("no"), 500),
        (TimeoutError("no"), 500),
        (SystemExit(1), 500),
        (KeyboardInterrupt(), 500),
        (RecursionError(), 500),
        (asyncio.CancelledError(), 500),
        (StopIteration(), 500),
        (GeneratorExit(), 500),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_factory_raises_has_its_status(raised: BaseException, status: int, *, is_async: bool) -> None:
    def build(_context: RequestContext) -> Agent:
        raise raised

    async def build_async(_context: RequestContext) -> Agent:
        raise raised

    factory = AgentFactory("a", DB, build_async if is_async else build)
    with pytest.raises(FactoryError) as caught:
        resolve(factory)
    assert caught.value.status == status
    if not is_async:
        with pytest.raises(FactoryError) as caught:
            factory.resolve(RequestContext())
        assert caught.value.status == status


class Asking:
    """A callable object with an async `__call__`."""

    async def __call__(self, _context: RequestContext) -> Agent:
        await asyncio.sleep(0)
        return Agent(echo)


def test_an_async_object_is_an_async_callable() -> None:
    factory = AgentFactory("a", DB, Asking())
    assert resolve(factory).id == "a"
    with pytest.raises(FactoryError, match="is async"):
        factory.resolve(RequestContext())


def test_resolve_does_as_resolve_async() -> None:
    factory = AgentFactory("a", DB, lambda context: Agent(echo, name=context.input["name"]))
    product = factory.resolve(RequestContext(input={"name": "Ann"}))
    assert (product.name, product.id, product.store_events) == ("Ann", "a", True)


def test_a_factory_has_a_deadline() -> None:
    async def hang(_context: RequestContext) -> Agent:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(FactoryError, match=r"took longer than 0\.05 s"):
        resolve(AgentFactory("a", DB, hang), deadline_seconds=0.05)


def trusting() -> RequestContext:
    claims: dict[str, Any] = {"sub": "ann", "org": {"teams": ["red"]}}
    return RequestContext(user_id="ann", trusted=TrustedContext(claims, frozenset({"agents:run"})))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.trusted.claims.__setitem__("sub", "bob"),
        lambda c: c.trusted.claims["org"].__setitem__("teams", []),
        lambda c: c.trusted.claims["org"]["teams"].append("blue"),
        lambda c: c.trusted.scopes.add("agent_os:admin"),
        lambda c: setattr(c.trusted, "scopes", frozenset()),
        lambda c: setattr(c, "user_id", "bob"),
        lambda c: setattr(c, "anything", 1),
    ],
)
def test_a_context_cannot_be_changed(change: Callable[[RequestContext], object]) -> None:
    context = trusting()
    with pytest.raises((AttributeError, TypeError)):
        change(context)
    assert context == trusting()


def test_claims_are_a_copy() -> None:
    claims: dict[str, Any] = {"org": {"teams": ["red"]}}
    trusted = TrustedContext(claims)
    claims["org"]["teams"].append("blue")
    assert trusted.claims["org"]["teams"] == ("red",)


class AsStruct(msgspec.Struct):
    name: str
    size: int = 1


@dataclasses.dataclass
class AsDataclass:
    name: str
    size: int = 1


class AsTypedDict(TypedDict):
    name: str


class AsModel:
    """A stand-in for a pydantic model."""

    class RejectedError(ValueError):
        """The error of pydantic."""

        @staticmethod
        def errors(**_options: bool) -> list[dict[str, Any]]:
            return [{"msg": "Field required", "loc": ("name",)}]

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def model_validate(cls, given: dict[str, Any]) -> AsModel:
        if set(given) != {"name"} or not isinstance(given["name"], str):
            raise cls.RejectedError("input: secret")
        return cls(given["name"])

    @staticmethod
    def model_json_schema() -> dict[str, Any]:
        return {"type": "object", "properties": {"name": {"type": "string"}}}


SCHEMAS = [AsStruct, AsDataclass, AsTypedDict, AsModel]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_input_is_checked_before_the_factory_is_called(schema: Any) -> None:
    seen: list[Any] = []

    def build(context: RequestContext) -> Agent:
        seen.append(context.input)
        return Agent(echo)

    factory = AgentFactory("a", DB, build, input_schema=schema)
    for wrong in (None, {}, {"name": 1}, {"name": None}):
        with pytest.raises(FactoryValidationError, match="factory_input validation failed") as caught:
            resolve(factory, RequestContext(input=wrong))
        assert caught.value.status == 400
        assert "secret" not in str(caught.value)
    assert seen == []
    resolve(factory, RequestContext(input={"name": "Ann"}))
    (found,) = seen
    assert (found["name"] if isinstance(found, dict) else found.name) == "Ann"
    resolve(factory, RequestContext(input={"name": "Ann"}), read_input=False)
    assert seen[1] is None


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_is_described(schema: Any) -> None:
    assert json_schema(schema)["properties"]["name"] == {"type": "string"}


@pytest.mark.parametrize("schema", [dict, "AsStruct", 1, echo])
def test_an_invalid_schema_is_rejected(schema: Any) -> None:
    with pytest.raises(ConfigurationError, match="input_schema"):
        AgentFactory("a", DB, never, input_schema=schema)


@pytest.mark.parametrize("given", [None, {}, {"a": [1]}])
def test_without_a_schema_the_input_is_as_sent(given: object) -> None:
    factory = AgentFactory("a", DB, lambda context: Agent(echo, model=repr(context.input)))
    assert resolve(factory, RequestContext(input=given)).model == repr(given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "valid JSON"),
        ("{", "valid JSON"),
        ('{"a": NaN}', "valid JSON"),
        ("null", "JSON object, got NoneType"),
        ("[1]", "JSON object, got list"),
        ('"x"', "JSON object, got str"),
        ('{"a": "' + "x" * 262144 + '"}', "at most 262144 bytes"),
        ('{"a": ' + "[" * 64 + "]" * 64 + "}", "at most 64 deep"),
        ('{"a": ' + "[" * 5000 + "]" * 5000 + "}", "factory_input must be"),
    ],
    ids=range(9),
)
def test_an_input_that_is_not_an_object_is_rejected(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_input(text)
    assert getattr(caught.value, "status", None) == 400


def test_an_input_at_its_limits_is_accepted() -> None:
    assert parse_input(None) is None
    assert parse_input('{"a": ' + "[" * 63 + "]" * 63 + "}") is not None


def test_a_lookup_without_a_request_finds_no_factory() -> None:
    registry = Registry({Kind.AGENT: [AgentFactory("a", DB, never)]})
    with pytest.raises(FactoryContextRequired) as caught:
        registry.component(Kind.AGENT, "a")
    assert caught.value.status == 400
