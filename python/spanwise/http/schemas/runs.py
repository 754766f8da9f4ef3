"""What is answered about what is hosted and its runs, as data. Components of other frameworks may say more.

Source: compat 4.2, 4.4 and 6.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.models import StoredText, Text

Objects: TypeAlias = list[dict[str, Any]]
RunStatus: TypeAlias = Annotated[
    Literal["PENDING", "RUNNING", "COMPLETED", "PAUSED", "CANCELLED", "ERROR"], Meta(description="How far it is.")
]


class Hosted(Struct, frozen=True, kw_only=True):
    """An agent, team or workflow, or a factory of one. What it does not have is left out."""

    id: Annotated[str, Meta(description="Its handle in URL paths.")]
    name: Annotated[str, Meta(description="Its name, for people.")]
    is_factory: Annotated[bool, Meta(description="Whether every request gets one of its own.")]
    is_component: Annotated[bool, Meta(description="Always false: it was not made through this API.")]
    description: Annotated[str | None, Meta(description="What it is good for.")] = None
    db_id: Annotated[str | None, Meta(description="The database it was given, if that has an id.")] = None
    model: Annotated[dict[str, Any] | None, Meta(description="The model behind it.")] = None
    mode: Annotated[str | None, Meta(description="How a team is coordinated.")] = None
    members: Annotated[Objects | None, Meta(description="The members of a team.")] = None
    steps: Annotated[Objects | None, Meta(description="The steps of a workflow.")] = None
    input_schema: Annotated[dict[str, Any] | None, Meta(description="What `factory_input` must be.")] = None
    factory_input_schema: Annotated[dict[str, Any] | None, Meta(description="The same.")] = None


class Run(Struct, frozen=True, kw_only=True):
    """One run, as far as it is. What it does not have is left out."""

    run_id: Annotated[str, Meta(description="Its id.")]
    session_id: Annotated[str, Meta(description="The conversation it belongs to.")]
    status: RunStatus
    created_at: Annotated[int, Meta(description="When it began: seconds since 1970.")]
    user_id: Annotated[str | None, Meta(description="Who asked for it.")] = None
    content: Annotated[Any, Meta(description="Its output: text, or what the component returned.")] = None
    content_type: Annotated[str | None, Meta(description="`str` if the output is text.")] = None
    input: Annotated[Any, Meta(description="What it was asked.")] = None
    metrics: Annotated[dict[str, Any] | None, Meta(description="How long it took, and what it used.")] = None
    metadata: Annotated[dict[str, Any] | None, Meta(description="`trace_id` is the id of its trace.")] = None
    session_state: Annotated[dict[str, Any] | None, Meta(description="What its session remembered at its end.")] = None
    events: Annotated[Objects | None, Meta(description="Its events, where they are stored with it.")] = None
    requirements: Annotated[Objects | None, Meta(description="What it waits for, if it is paused.")] = None


class AgentRun(Run, frozen=True, kw_only=True):
    """One run of an agent."""

    agent_id: Annotated[str, Meta(description="The agent.")]
    agent_name: Annotated[str | None, Meta(description="Its name.")] = None
    model: Annotated[str | None, Meta(description="The model behind it.")] = None
    tools: Annotated[Objects | None, Meta(description="The tools that were called, or wait for an answer.")] = None


class TeamRun(Run, frozen=True, kw_only=True):
    """One run of a team."""

    team_id: Annotated[str, Meta(description="The team.")]
    team_name: Annotated[str | None, Meta(description="Its name.")] = None
    member_responses: Annotated[Objects | None, Meta(description="The runs of its members.")] = None


class WorkflowRun(Run, frozen=True, kw_only=True):
    """One run of a workflow."""

    workflow_id: Annotated[str, Meta(description="The workflow.")]
    workflow_name: Annotated[str | None, Meta(description="Its name.")] = None
    step_results: Annotated[Objects | None, Meta(description="What its steps gave.")] = None
    step_executor_runs: Annotated[Objects | None, Meta(description="The runs of what its steps ran.")] = None
    step_requirements: Annotated[Objects | None, Meta(description="What it waits for, if it is paused.")] = None


class Begun(Struct, frozen=True, kw_only=True):
    """A run that goes on behind this answer."""

    run_id: Annotated[str, Meta(description="Its id.")]
    session_id: Annotated[str, Meta(description="The conversation it belongs to.")]
    status: Annotated[Literal["PENDING"], Meta(description="It was not waited for.")]


class Cancelled(Struct, frozen=True):
    """Nothing more is to be said: the run has ended."""


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which run is read."""

    session_id: Annotated[
        StoredText | UnsetType, Meta(description="The conversation that the run must be of, if given.")
    ] = UNSET
    factory_input: Annotated[Text, Meta(description="Of a workflow factory: a JSON object, as text.")] = UNSET


class RunListQuery(Struct, frozen=True, kw_only=True):
    """Which runs are listed."""

    session_id: Annotated[StoredText, Meta(description="The conversation.")]
    status: Annotated[StoredText | UnsetType, Meta(description="Only runs in this state.")] = UNSET
    factory_input: Annotated[Text, Meta(description="Of a workflow factory: a JSON object, as text.")] = UNSET


class CancelQuery(Struct, frozen=True, kw_only=True):
    """Which run is ended."""

    session_id: Annotated[StoredText | UnsetType, Meta(description="The same as in the form.")] = UNSET
