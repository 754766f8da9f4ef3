"""Hosted components. Components of other frameworks may have further members.

Source: `docs/reference/api-runs.md#components`.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from spanwise.api.shared import Object, Objects


class Hosted(Struct, frozen=True, kw_only=True):
    """An agent, team or workflow, or a factory of one. Members that it does not have are left out."""

    id: Annotated[str, Meta(description="Its id in URL paths.")]
    name: Annotated[str, Meta(description="Its name, for people.")]
    is_factory: Annotated[bool, Meta(description="True for a factory, which builds a component for every request.")]
    is_component: Annotated[bool, Meta(description="Always false: it was not created through this API.")]
    description: Annotated[str | None, Meta(description="What it does.")] = None
    db_id: Annotated[str | None, Meta(description="The id of its database.")] = None
    model: Annotated[dict[str, Any] | None, Meta(description="Its model.")] = None
    mode: Annotated[str | None, Meta(description="How the team coordinates its members.")] = None
    members: Annotated[Objects | None, Meta(description="The members of a team.")] = None
    steps: Annotated[Objects | None, Meta(description="The steps of a workflow.")] = None
    tools: Annotated[
        dict[str, Any] | None, Meta(description="Its tools, and settings of how they are called. From agno.")
    ] = None
    sessions: Annotated[
        dict[str, Any] | None, Meta(description="How it uses its sessions, where that is no default. From agno.")
    ] = None
    system_message: Annotated[
        dict[str, Any] | None, Meta(description="Its instructions and other system messages. From agno.")
    ] = None
    input_schema: Annotated[dict[str, Any] | None, Meta(description="The JSON Schema of `factory_input`.")] = None
    factory_input_schema: Annotated[dict[str, Any] | None, Meta(description="The same as `input_schema`.")] = None


class Model(Struct, frozen=True, omit_defaults=True):
    """A model of a hosted component."""

    id: Annotated[str | None, Meta(description="The id of the model.")] = None
    provider: Annotated[str | None, Meta(description="The provider of the model.")] = None


class HostedSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent, team or workflow, or a factory of one. Missing values are omitted."""

    id: Annotated[str, Meta(description="Its id, as used in URL paths.")]
    name: Annotated[str, Meta(description="Its display name.")]
    description: Annotated[str | None, Meta(description="Its description.")] = None
    db_id: Annotated[str | None, Meta(description="The id of its database, if any.")] = None
    model: Annotated[Model | None, Meta(description="Its model.")] = None
    mode: Annotated[str | None, Meta(description="The coordination mode of a team.")] = None
    is_factory: Annotated[bool | None, Meta(description="For workflows: whether it is a factory.")] = None
    factory_input_schema: Annotated[Object | None, Meta(description="For workflow factories: the input schema.")] = None
    is_component: Annotated[bool | None, Meta(description="For workflows: always false.")] = None
