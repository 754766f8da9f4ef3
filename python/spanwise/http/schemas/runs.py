"""The shapes of hosted components and their runs. Components of other frameworks may have further members.

See `docs/reference/api-runs.md#run-results`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.models import StoredText, Text

Objects: TypeAlias = list[dict[str, Any]]
RunStatus: TypeAlias = Annotated[
    Literal["PENDING", "RUNNING", "COMPLETED", "PAUSED", "CANCELLED", "ERROR"],
    Meta(description="The state of the run."),
]


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


class Run(Struct, frozen=True, kw_only=True):
    """One run, finished or not. Members that it does not have are left out."""

    run_id: Annotated[str, Meta(description="Its id.")]
    session_id: Annotated[str, Meta(description="The session that it belongs to.")]
    status: RunStatus
    created_at: Annotated[int, Meta(description="When it was started: seconds since 1970.")]
    user_id: Annotated[str | None, Meta(description="The user who started it.")] = None
    content: Annotated[Any, Meta(description="Its output: text, or the returned value.")] = None
    content_type: Annotated[str | None, Meta(description="`str` if the output is text.")] = None
    input: Annotated[Any, Meta(description="Its input.")] = None
    metrics: Annotated[dict[str, Any] | None, Meta(description="Its duration and token usage.")] = None
    metadata: Annotated[dict[str, Any] | None, Meta(description="`trace_id` is the id of its trace.")] = None
    session_state: Annotated[dict[str, Any] | None, Meta(description="The state of its session when it ended.")] = None
    damaged: Annotated[
        bool | None, Meta(description="`true` if the stored run is damaged: only its ids and times are returned.")
    ] = None
    events: Annotated[Objects | None, Meta(description="Its events, if they are stored with it.")] = None
    requirements: Annotated[Objects | None, Meta(description="Its requirements, if it is paused.")] = None


class AgentRun(Run, frozen=True, kw_only=True):
    """One run of an agent."""

    agent_id: Annotated[str, Meta(description="The agent.")]
    agent_name: Annotated[str | None, Meta(description="Its name.")] = None
    model: Annotated[str | None, Meta(description="Its model.")] = None
    tools: Annotated[Objects | None, Meta(description="The tools that were called, or that wait for an answer.")] = None


class TeamRun(Run, frozen=True, kw_only=True):
    """One run of a team."""

    team_id: Annotated[str, Meta(description="The team.")]
    team_name: Annotated[str | None, Meta(description="Its name.")] = None
    member_responses: Annotated[Objects | None, Meta(description="The runs of its members.")] = None


class WorkflowRun(Run, frozen=True, kw_only=True):
    """One run of a workflow."""

    workflow_id: Annotated[str, Meta(description="The workflow.")]
    workflow_name: Annotated[str | None, Meta(description="Its name.")] = None
    step_results: Annotated[Objects | None, Meta(description="The results of its steps.")] = None
    step_executor_runs: Annotated[
        Objects | None, Meta(description="The runs of the components that its steps ran.")
    ] = None
    step_requirements: Annotated[Objects | None, Meta(description="Its requirements, if it is paused.")] = None


class Begun(Struct, frozen=True, kw_only=True):
    """A run that continues in the background."""

    run_id: Annotated[str, Meta(description="Its id.")]
    session_id: Annotated[str, Meta(description="The session that it belongs to.")]
    status: Annotated[Literal["PENDING"], Meta(description="Always `PENDING`: the response does not wait for the run.")]


class Cancelled(Struct, frozen=True):
    """An empty object: the run has ended."""


class RunQuery(Struct, frozen=True, kw_only=True):
    """The query of one run."""

    session_id: Annotated[
        StoredText | UnsetType, Meta(description="The session that the run must belong to, if given.")
    ] = UNSET
    user_id: Annotated[
        StoredText | UnsetType, Meta(description="The user. The `sub` of a verified token takes precedence.")
    ] = UNSET
    factory_input: Annotated[Text, Meta(description="The input of a workflow factory: a JSON object, as text.")] = UNSET


class RunListQuery(Struct, frozen=True, kw_only=True):
    """The query of a list of runs."""

    session_id: Annotated[StoredText, Meta(description="The session.")]
    user_id: Annotated[StoredText | UnsetType, Meta(description="The user whose session it is.")] = UNSET
    status: Annotated[StoredText | UnsetType, Meta(description="Only runs with this status.")] = UNSET
    factory_input: Annotated[Text, Meta(description="The input of a workflow factory: a JSON object, as text.")] = UNSET


class CancelQuery(Struct, frozen=True, kw_only=True):
    """The query of a cancellation."""

    session_id: Annotated[
        StoredText | UnsetType, Meta(description="The same as in the form, which takes precedence.")
    ] = UNSET
