"""The forms of runs, as data. Fields that they do not name are ignored, or refused where somebody may rely on them.

Source: specification, "Run-related routes that use factories"; compat 4.1 and 4.4.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from spanwise.models import StoredText

Id: TypeAlias = StoredText | None
Session: TypeAlias = Annotated[Id, Meta(description="The conversation; where a token names one, that one.")]
SessionOfRun: TypeAlias = Annotated[Id, Meta(description="The conversation that the run must be of, if given.")]
User: TypeAlias = Annotated[Id, Meta(description="Who asks; where a token was verified, its `sub`.")]
Streamed: TypeAlias = Annotated[bool, Meta(description="Whether the answer is server-sent events.")]
Background: TypeAlias = Annotated[
    bool,
    Meta(description="Whether to answer 202 at once. Every run goes on by itself, a streamed one too."),
]
FactoryInput: TypeAlias = Annotated[
    str | None, Meta(description="A JSON object, as text, for the factory. Agents and teams read it when they begin.")
]
Answers: TypeAlias = Annotated[
    str | None, Meta(description="The answers to what the paused run waits for: a JSON array of objects, as text.")
]


StreamEvents: TypeAlias = Annotated[
    bool,
    Meta(description="If not, a stream has only the pieces of the answer, and the end of a run that did not complete."),
]


class RunForm(Struct, frozen=True, kw_only=True):
    """What both forms that set a run going have."""

    stream: Streamed = True
    background: Background = False
    session_id: Session = None
    user_id: User = None
    factory_input: FactoryInput = None
    stream_events: StreamEvents = True


class CreateForm(RunForm, frozen=True, kw_only=True):
    """The form that begins a run."""

    message: Annotated[str, Meta(description="What the component is asked.")]
    session_state: Annotated[
        str | None, Meta(description="A JSON object, as text: what the session remembers from now on, beside the rest.")
    ] = None
    dependencies: Annotated[
        str | None, Meta(description="A JSON object, as text: what the component is given for this run.")
    ] = None
    metadata: Annotated[
        str | None, Meta(description="A JSON object, as text, that stands in the result of the run.")
    ] = None


class ContinueForm(RunForm, frozen=True, kw_only=True):
    """The form that continues a run. Answers are `tools` of agents, `requirements` of teams, else the third."""

    tools: Answers = None
    requirements: Answers = None
    step_requirements: Answers = None


class CancelForm(Struct, frozen=True, kw_only=True):
    """The form that ends a run."""

    session_id: SessionOfRun = None


class ResumeForm(Struct, frozen=True, kw_only=True):
    """The form that asks for the events of a run again."""

    last_event_index: Annotated[
        str | None, Meta(description="The last event that the caller has; the header `Last-Event-ID` wins.")
    ] = None
    session_id: SessionOfRun = None
