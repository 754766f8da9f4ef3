"""The service: health, overview, configuration and settings.

Source: `docs/reference/api.md`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.api.components import HostedSummary
from spanwise.api.shared import Object, Text


class HealthQuery(Struct, frozen=True, kw_only=True):
    """The query parameters of the health check."""

    ready: Annotated[Text, Meta(description="If `true`, return 503 unless the service accepts requests.")] = UNSET


class Health(Struct, frozen=True):
    """The response of a healthy service."""

    status: Annotated[Literal["ok"], Meta(description="Always `ok`: otherwise the response is an error.")]
    instantiated_at: Annotated[str, Meta(description="The start time of this process: ISO 8601, UTC.")]
    as_of: Annotated[
        str | UnsetType, Meta(description="Of a reader: up to when its answers know everything. ISO 8601, UTC.")
    ] = UNSET
    lag_seconds: Annotated[float | UnsetType, Meta(description="Of a reader: how long ago that was.")] = UNSET


class Overview(Struct, frozen=True):
    """The name and version of the service."""

    name: Annotated[str, Meta(description="The display name of the service.")]
    id: Annotated[str, Meta(description="The id of the service.")]
    version: Annotated[str, Meta(description="The version of the API, which is that of agno's service.")]
    spanwise_version: Annotated[str, Meta(description="The version of Spanwise.")]


class ToolServer(Struct, frozen=True):
    """The availability of components as MCP tools."""

    enabled: Annotated[bool, Meta(description="Always false: they are not.")] = False
    path: Annotated[str | None, Meta(description="Always null.")] = None
    oauth: Annotated[bool | None, Meta(description="Always null.")] = None


class Info(Struct, frozen=True):
    """Public information about the service: how to authenticate, and how many components it hosts."""

    os_id: Annotated[str, Meta(description="The id of the service.")]
    name: Annotated[str, Meta(description="The display name of the service.")]
    agno_version: Annotated[str, Meta(description="The version of the API.")]
    agent_count: Annotated[int, Meta(description="How many agents are hosted.")]
    team_count: Annotated[int, Meta(description="How many teams are hosted.")]
    workflow_count: Annotated[int, Meta(description="How many workflows are hosted.")]
    mcp: ToolServer
    auth_mode: Annotated[Literal["jwt", "none"], Meta(description="`jwt` if a bearer token is required.")]
    callers: Annotated[
        Literal["open", "verified", "tokens"],
        Meta(
            description=(
                "`open` if every caller has full access, `verified` if the surrounding program identifies callers, "
                "`tokens` if a bearer token does."
            )
        ),
    ]
    authenticated: Annotated[
        bool,
        Meta(
            description=(
                "True if the request has a valid token or comes from a trusted proxy, or if no token is required."
            )
        ),
    ]
    capabilities: Annotated[
        list[Literal["search", "ingest", "delete", "runs"]],
        Meta(description="The role of this process; a reader only searches."),
    ]


class SettingValue(Struct, frozen=True, kw_only=True):
    """The value of one setting in effect."""

    name: Annotated[str, Meta(description="Its name in code and in a TOML file.")]
    value: Annotated[Any, Meta(description="Its value: a text, a number, a boolean, null, or an object of texts.")]
    default: Annotated[str, Meta(description="Its default, in words.")]
    description: Annotated[str, Meta(description="Its purpose.")]


class DomainConfig(Struct, frozen=True):
    """The display name of the contents of a database."""

    display_name: Annotated[str, Meta(description="The display name.")]


class DatabaseConfig(Struct, frozen=True):
    """A database, by its `db_id`."""

    db_id: Annotated[str, Meta(description="The id of the database.")]
    domain_config: Annotated[DomainConfig, Meta(description="Display settings.")]


class DatabasesConfig(Struct, frozen=True):
    """A list of databases."""

    dbs: Annotated[list[DatabaseConfig], Meta(description="The databases.")]


class Config(Struct, frozen=True, kw_only=True):
    """The configuration of the service, for user interfaces."""

    os_id: Annotated[str, Meta(description="The id of the service.")]
    name: Annotated[str, Meta(description="The display name of the service.")]
    os_database: Annotated[str, Meta(description="The database of sessions and runs.")]
    databases: Annotated[list[str], Meta(description="All valid values of `db_id`.")]
    session: Annotated[DatabasesConfig, Meta(description="The databases of sessions.")]
    traces: Annotated[DatabasesConfig, Meta(description="The databases of traces.")]
    agents: Annotated[list[HostedSummary], Meta(description="The hosted agents.")]
    teams: Annotated[list[HostedSummary], Meta(description="The hosted teams.")]
    workflows: Annotated[list[HostedSummary], Meta(description="The hosted workflows.")]
    interfaces: Annotated[list[Object], Meta(description="Always empty.")]
