"""The forms of run requests. Other fields are ignored, or rejected if a client might depend on their effect.

See `docs/reference/api-runs.md#run-routes`.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from spanwise.models import StoredText

Id: TypeAlias = StoredText | None
SessionId: TypeAlias = Annotated[
    Id, Meta(description="The session; a new one if not given. The session in a verified token takes precedence.")
]
SessionIdOfRun: TypeAlias = Annotated[Id, Meta(description="The session that the run must belong to, if given.")]
UserId: TypeAlias = Annotated[Id, Meta(description="The user. The `sub` of a verified token takes precedence.")]
Stream: TypeAlias = Annotated[bool, Meta(description="Whether the response is a stream of server-sent events.")]
Background: TypeAlias = Annotated[
    bool,
    Meta(description="Whether to respond with 202 at once. No run ends because its client leaves, streamed or not."),
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
