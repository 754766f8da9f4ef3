"""Filter fields, and the matches of a filter.

Source: `docs/reference/filter.md#fields`, `docs/reference/api-search.md#matches`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Raw, Struct

FILTER_SCHEMA = {"anyOf": [{"type": "object"}, {"type": "null"}]}
"""The JSON Schema of a filter expression that may be missing."""
OptionalFilter: TypeAlias = Annotated[
    Raw, Meta(description="A filter expression; null or `{}` matches everything.", extra_json_schema=FILTER_SCHEMA)
]


class FilterField(Struct, frozen=True):
    """A filterable field with its operators."""

    key: Annotated[str, Meta(description="Its name in filters.")]
    label: Annotated[str, Meta(description="Its name for people.")]
    type: Annotated[
        Literal["string", "enum", "number", "datetime", "boolean", "text"],
        Meta(description="The type of its values; `text` means inputs, outputs, errors and messages."),
    ]
    operators: Annotated[list[str], Meta(description="The operators that it takes.")]
    values: Annotated[list[str] | None, Meta(description="Its values, if they are known: of an `enum`.")]


class FilterSchema(Struct, frozen=True):
    """The fields and operators of filters."""

    fields: list[FilterField]
    logical_operators: Annotated[list[str], Meta(description="The operators that take conditions.")]
    span_fields: Annotated[list[FilterField], Meta(description="The fields inside of `SPAN`.")]
    axes: Annotated[list[str], Meta(description="How a span inside of `SPAN` is related to another.")]
    axis_options: Annotated[dict[str, list[str]], Meta(description="The members that narrow each axis.")]


class MatchedSpans(Struct, frozen=True):
    """The spans of a `SPAN` or an axis."""

    count: Annotated[int, Meta(ge=0, description="How many there are.")]
    span_ids: Annotated[list[str], Meta(max_length=32, description="The first of them, in the order of the tree.")]


class MatchedText(Struct, frozen=True):
    """A piece of text that matches the filter."""

    span_id: Annotated[str, Meta(description="The span in which it was said.")]
    field: Annotated[Literal["input", "output", "error"], Meta(description="Which of its texts.")]
    context: Annotated[str, Meta(description="The match and its surroundings, with `…` where it is cut.")]
    start: Annotated[int, Meta(ge=0, description="Where in `context` it begins, in characters.")]
    end: Annotated[int, Meta(ge=1, description="Where it ends.")]


class Matches(Struct, frozen=True):
    """The spans and the pieces of text that made a filter match a trace."""

    spans: Annotated[
        dict[str, MatchedSpans],
        Meta(description="By name: `as`, or `span`, `span_2` and so on for each `SPAN` without one."),
    ]
    texts: Annotated[list[MatchedText], Meta(max_length=8, description="The first pieces of each condition in turn.")]
