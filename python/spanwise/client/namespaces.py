"""`F`, the fields of traces, and `S`, the fields of spans and the relations between spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from spanwise.api.aggregates import Measure, Operation
from spanwise.client.expressions import Expression
from spanwise.client.fields import (
    AttributeField,
    BooleanField,
    ContentField,
    Field,
    NumberField,
    StatusField,
    TextField,
    TimeField,
    measure,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

    from spanwise.client.expressions import FilterLike


def _where(op: str, where: Expression, **options: Any) -> Expression:  # noqa: ANN401  # any JSON value
    given = {name: value for name, value in options.items() if value is not None}
    return Expression({"op": op} | given | {"where": where.to_dict()})


class Order(TypedDict, total=False):
    """Options that limit the spans before or after a span."""

    name: str
    """Their name in the matches of a search."""
    from_: Literal["start"]
    """Compare start times only, so that the spans may overlap."""
    scope: Literal["siblings"]
    """Only spans with the same parent."""
    same: Iterable[Field[Any] | ContentField | str]
    """Fields that must be equal in both spans."""
    without: Expression
    """A condition that no span between the two may match."""


def _ordered(op: str, where: Expression, order: Order) -> Expression:
    between = order["without"].to_dict() if "without" in order else None
    options = {"as": order.get("name"), "from": order.get("from_"), "scope": order.get("scope")}
    return _where(op, where, **options, same=_keys(order.get("same", ())), without=between)


class _Attributes:
    """The attributes that senders set."""

    @staticmethod
    def attribute(key: str) -> AttributeField:
        """Returns the attribute `key` of a span, or of the run root of a trace."""
        return AttributeField(f"attributes.{key}")

    @staticmethod
    def resource(key: str) -> AttributeField:
        """Returns the attribute `key` of the resource, such as `service.version`."""
        return AttributeField(f"resource.{key}")


class TraceFields(_Attributes):
    """The fields of traces."""

    status = StatusField("status")
    user_id = TextField("user_id")
    agent_id = TextField("agent_id")
    team_id = TextField("team_id")
    workflow_id = TextField("workflow_id")
    session_id = TextField("session_id")
    run_id = TextField("run_id")
    name = TextField("name")
    service = TextField("service")
    environment = TextField("environment")
    release = TextField("release")
    trace_id = TextField("trace_id")
    duration_ms = NumberField("duration_ms")
    start_time = TimeField("start_time")
    end_time = TimeField("end_time")
    created_at = TimeField("created_at")
    total_spans = NumberField("total_spans")
    error_count = NumberField("error_count")
    input_tokens = NumberField("input_tokens")
    output_tokens = NumberField("output_tokens")
    total_tokens = NumberField("total_tokens")
    cached_tokens = NumberField("cached_tokens")
    reasoning_tokens = NumberField("reasoning_tokens")
    llm_calls = NumberField("llm_calls")
    tool_calls = NumberField("tool_calls")
    cost = NumberField("cost")
    cost_partial = NumberField("cost_partial")
    input = ContentField("input")
    output = ContentField("output")
    error = ContentField("error")
    text = ContentField("text")

    @staticmethod
    def span(
        where: Expression, *, name: str | None = None, at_least: int | None = None, at_most: int | None = None
    ) -> Expression:
        """Returns `SPAN`: a number of spans match `where`, an expression of `S`; by default at least one.

        `name` names the spans in the matches of a search.
        """
        return _where("SPAN", where, **{"as": name}, at_least=at_least, at_most=at_most)

    @staticmethod
    def count(*, where: FilterLike = None) -> Measure:
        """Returns the measure that counts traces."""
        return measure(Operation.COUNT, where)


class SpanFields(_Attributes):
    """The fields of spans, and the axes from one span to others, for use inside `F.span`."""

    name = TextField("name")
    type = TextField("type")
    status = StatusField("status")
    duration_ms = NumberField("duration_ms")
    start_time = TimeField("start_time")
    is_root = BooleanField("is_root")
    depth = NumberField("depth")
    child_count = NumberField("child_count")
    model = TextField("model")
    provider = TextField("provider")
    operation = TextField("operation")
    tool_name = TextField("tool_name")
    input_tokens = NumberField("input_tokens")
    output_tokens = NumberField("output_tokens")
    cached_tokens = NumberField("cached_tokens")
    reasoning_tokens = NumberField("reasoning_tokens")
    cost = NumberField("cost")
    service = TextField("service")
    input = ContentField("input")
    output = ContentField("output")
    error = ContentField("error")
    text = ContentField("text")

    @staticmethod
    def parent(where: Expression, *, name: str | None = None) -> Expression:
        """Returns `PARENT`: the direct parent matches `where`."""
        return _where("PARENT", where, **{"as": name})

    @staticmethod
    def child(where: Expression, *, name: str | None = None) -> Expression:
        """Returns `CHILD`: a direct child matches `where`."""
        return _where("CHILD", where, **{"as": name})

    @staticmethod
    def ancestor(where: Expression, *, name: str | None = None) -> Expression:
        """Returns `ANCESTOR`: a span above it matches `where`."""
        return _where("ANCESTOR", where, **{"as": name})

    @staticmethod
    def descendant(where: Expression, *, name: str | None = None) -> Expression:
        """Returns `DESCENDANT`: a span below it matches `where`."""
        return _where("DESCENDANT", where, **{"as": name})

    @staticmethod
    def sibling(
        where: Expression, *, name: str | None = None, same: Iterable[Field[Any] | ContentField | str] = ()
    ) -> Expression:
        """Returns `SIBLING`: another span with the same parent and equal values of `same` matches `where`."""
        return _where("SIBLING", where, **{"as": name}, same=_keys(same))

    @staticmethod
    def followed_by(where: Expression, **order: Unpack[Order]) -> Expression:
        """Returns `FOLLOWED_BY`: a span that starts at or after the end of this one matches `where`."""
        return _ordered("FOLLOWED_BY", where, order)

    @staticmethod
    def preceded_by(where: Expression, **order: Unpack[Order]) -> Expression:
        """Returns `PRECEDED_BY`: a span that ends at or before the start of this one matches `where`."""
        return _ordered("PRECEDED_BY", where, order)


def _keys(fields: Iterable[Field[Any] | ContentField | str]) -> list[str] | None:
    return [field if isinstance(field, str) else field.key for field in fields] or None


F = TraceFields()
S = SpanFields()
