"""Runs of hosted components: their forms, queries and results. Components of other frameworks may add members.

Source: `docs/reference/api-runs.md#run-routes`, `docs/reference/api-runs.md#run-results`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.api.shared import Objects, StoredText, Text

Id: TypeAlias = StoredText | None
SessionId: TypeAlias = Annotated[
    Id, Meta(description="The session; a new one if not given. The session in a verified token takes precedence.")
]
SessionIdOfRun: TypeAlias = Annotated[Id, Meta(description="The session that the run must belong to, if given.")]
UserId: TypeAlias = Annotated[Id, Meta(description="The user. The `sub` of a verified token takes precedence.")]
Stream: TypeAlias = Annotated[bool, Meta(description="True for a stream of server-sent events.")]
Background: TypeAlias = Annotated[
    bool,
    Meta(description="True to respond with 202 at once. A run continues when its client disconnects, streamed or not."),
]
FactoryInput: TypeAlias = Annotated[
    str | None,
    Meta(description="The input of a factory: a JSON object, as text. Agents and teams read it only for a new run."),
]
Answers: TypeAlias = Annotated[
    str | None, Meta(description="The answers to the requirements of the paused run: a JSON array of objects, as text.")
]
StreamEvents: TypeAlias = Annotated[
    bool,
    Meta(description="If false, a stream has only content events and the last event of a run that does not complete."),
]


class RunForm(Struct, frozen=True, kw_only=True):
    """The fields that the forms for starting and continuing a run share."""

    stream: Stream = True
    background: Background = False
    session_id: SessionId = None
    user_id: UserId = None
    factory_input: FactoryInput = None
    stream_events: StreamEvents = True


class CreateForm(RunForm, frozen=True, kw_only=True):
    """Starts a run."""

    message: Annotated[str, Meta(description="The input of the component.")]
    session_state: Annotated[
        str | None, Meta(description="A JSON object, as text, that is merged into the state of the session.")
    ] = None
    dependencies: Annotated[
        str | None, Meta(description="A JSON object, as text, that is passed to the component for this run.")
    ] = None
    metadata: Annotated[
        str | None, Meta(description="A JSON object, as text, that is returned with the result of the run.")
    ] = None


class ContinueForm(RunForm, frozen=True, kw_only=True):
    """Continues a paused run. Answers are read from `tools` for agents, `requirements` for teams, else the third."""

    tools: Answers = None
    requirements: Answers = None
    step_requirements: Answers = None


class CancelForm(Struct, frozen=True, kw_only=True):
    """Cancels a run."""

    session_id: SessionIdOfRun = None


class ResumeForm(Struct, frozen=True, kw_only=True):
    """Streams the events of a run again."""

    last_event_index: Annotated[
        str | None,
        Meta(
            description="The index of the last event that the client has. The header `Last-Event-ID` takes precedence."
        ),
    ] = None
    session_id: SessionIdOfRun = None


RunStatus: TypeAlias = Annotated[
    Literal["PENDING", "RUNNING", "COMPLETED", "PAUSED", "CANCELLED", "ERROR"],
    Meta(description="The state of the run."),
]


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
