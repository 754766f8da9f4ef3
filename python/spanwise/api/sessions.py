"""Sessions of hosted components.

Source: `docs/reference/api-sessions.md#sessions`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.api.shared import WITHOUT_NUL, PaginationInfo, StoredText, Text, Time

MAX_NAME_LENGTH = 160
MAX_DELETED_SESSIONS = 1000
"""Sessions that one request deletes."""
MAX_PREVIEW_LENGTH = 280
"""Characters of a preview, as clients of agno 3 expect."""
KindName: TypeAlias = Literal["agent", "team", "workflow"]
RunStatusFilter: TypeAlias = Literal[
    "PENDING",
    "RUNNING",
    "PAUSED",
    "COMPLETED",
    "CANCELLED",
    "ERROR",
    "REGENERATED",
    "pending",
    "running",
    "paused",
    "completed",
    "cancelled",
    "error",
    "regenerated",
]
"""The statuses that agno clients filter by. No run is REGENERATED here."""
NameText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH, pattern=WITHOUT_NUL)]
IdText: TypeAlias = Annotated[str, Meta(max_length=255, pattern=WITHOUT_NUL)]
Name: TypeAlias = Annotated[NameText | None, Meta(description="Its name, for people.")]
State: TypeAlias = Annotated[dict[str, Any] | None, Meta(description="The state that components keep in it.")]
Metadata: TypeAlias = Annotated[dict[str, Any] | None, Meta(description="The metadata that clients keep with it.")]


class SessionQuery(Struct, frozen=True, kw_only=True):
    """The query of one session. A session that does not match it is reported as not found."""

    type: Annotated[KindName | UnsetType, Meta(description="The kind of its component.")] = UNSET
    user_id: Annotated[StoredText | UnsetType, Meta(description="The user whose session it is.")] = UNSET
    db_id: Annotated[Text, Meta(description="The id of the database of sessions; see `/config`.")] = UNSET


class SessionRunsQuery(SessionQuery, frozen=True, kw_only=True):
    """The query of the runs of a session."""

    status: Annotated[
        list[RunStatusFilter] | UnsetType,
        Meta(description="Only runs with this status, in upper or lower case; repeated for one of several."),
    ] = UNSET

    created_after: Annotated[
        int | UnsetType, Meta(description="Started at this time or later: seconds since 1970.")
    ] = UNSET
    created_before: Annotated[
        int | UnsetType, Meta(description="Started at this time or earlier: seconds since 1970.")
    ] = UNSET


class SessionListQuery(SessionQuery, frozen=True, kw_only=True):
    """The query of a page of sessions. All conditions must hold."""

    component_id: Annotated[
        StoredText | UnsetType, Meta(description="Only sessions of this agent, team or workflow.")
    ] = UNSET
    session_name: Annotated[
        StoredText | UnsetType, Meta(description="Only sessions whose name contains this text, ignoring case.")
    ] = UNSET
    sort_by: Annotated[Literal["created_at", "updated_at", "session_name"], Meta(description="The sort key.")] = (
        "created_at"
    )
    sort_order: Annotated[Literal["asc", "desc"], Meta(description="Ascending or descending order.")] = "desc"
    page: Annotated[int, Meta(ge=1, le=2**31, description="The number of the page, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


class SessionCreation(Struct, frozen=True, kw_only=True):
    """Creates a session without a run."""

    session_id: Annotated[IdText | None, Meta(description="Its id; a new one if not given.")] = None
    session_name: Name = None
    session_state: State = None
    metadata: Metadata = None
    user_id: Annotated[
        IdText | None, Meta(description="The user whose session it is. The `sub` of a verified token takes precedence.")
    ] = None
    agent_id: Annotated[IdText | None, Meta(description="Its agent.")] = None
    team_id: Annotated[IdText | None, Meta(description="Its team.")] = None
    workflow_id: Annotated[IdText | None, Meta(description="Its workflow.")] = None


class SessionCreationQuery(Struct, frozen=True, kw_only=True):
    """The query of a new session."""

    type: Annotated[KindName, Meta(description="The kind of its component.")] = "agent"
    db_id: Annotated[Text, Meta(description="The id of the database of sessions; see `/config`.")] = UNSET


class SessionsDeletionQuery(Struct, frozen=True, kw_only=True):
    """The query of a deletion of several sessions."""

    user_id: Annotated[StoredText | UnsetType, Meta(description="The user whose sessions they are.")] = UNSET
    db_id: Annotated[Text, Meta(description="The database of sessions. The only one is `runs`.")] = UNSET


class SessionsDeletion(Struct, frozen=True, kw_only=True):
    """Deletes several sessions. Those that do not exist are skipped."""

    session_ids: Annotated[list[IdText], Meta(min_length=1, max_length=MAX_DELETED_SESSIONS, description="Their ids.")]
    session_types: Annotated[
        list[KindName], Meta(min_length=1, description="The kinds of their components, one for each id.")
    ]


class SessionRenaming(Struct, frozen=True, kw_only=True):
    """Renames a session."""

    session_name: Annotated[NameText, Meta(description="Its name, for people.")]


class SessionUpdate(Struct, frozen=True, kw_only=True):
    """Changes a session. A member that is missing or null is left unchanged; an object is replaced as a whole."""

    session_name: Name = None
    session_state: State = None
    metadata: Metadata = None


class Session(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session. Members that it does not have are left out."""

    session_id: Annotated[str, Meta(description="Its id.")]
    session_name: Annotated[str, Meta(description="Its name, or else the beginning of its first message.")]
    session_type: Annotated[KindName, Meta(description="The kind of its component.")]
    user_id: Annotated[str | None, Meta(description="The user whose session it is.")] = None
    agent_id: Annotated[str | None, Meta(description="The agent of its first run.")] = None
    team_id: Annotated[str | None, Meta(description="The team of its first run.")] = None
    workflow_id: Annotated[str | None, Meta(description="The workflow of its first run.")] = None
    created_at: Annotated[Time, Meta(description="When it was created.")]
    updated_at: Annotated[Time, Meta(description="When it was last changed.")]
    metadata: Metadata = None
    damaged: Annotated[
        bool, Meta(description="`true` if the stored session is damaged: only its ids and times are returned.")
    ] = False


class ChatMessage(Struct, frozen=True):
    """One message of a conversation."""

    role: Annotated[Literal["user", "assistant"], Meta(description="Who wrote it.")]
    content: Annotated[Any, Meta(description="Its content: text, or the returned value.")]
    created_at: Annotated[int, Meta(description="When its run was started: seconds since 1970.")]


class SessionDetail(Session, frozen=True, kw_only=True, omit_defaults=True):
    """One session with its messages. Members that it does not have are left out."""

    agent_session_id: Annotated[str | None, Meta(description="Its id again, if it is the session of an agent.")] = None
    session_state: Annotated[dict[str, Any], Meta(description="The state that components keep in it.")]
    metrics: Annotated[dict[str, Any], Meta(description="The tokens and costs that its runs report, added up.")]
    total_tokens: Annotated[int | None, Meta(description="All tokens of its runs, if they report any.")] = None
    chat_history: Annotated[list[ChatMessage], Meta(description="Its messages, oldest first.")]


class RunPreview(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a session in short. Members that it does not have are left out."""

    run_id: Annotated[str, Meta(description="Its id.")]
    agent_id: Annotated[str | None, Meta(description="Its agent.")] = None
    team_id: Annotated[str | None, Meta(description="Its team.")] = None
    workflow_id: Annotated[str | None, Meta(description="Its workflow.")] = None
    user_id: Annotated[str | None, Meta(description="The caller.")] = None
    status: Annotated[str, Meta(description="Its status.")]
    run_input: Annotated[str, Meta(description="The beginning of its message.")]
    content_preview: Annotated[
        str | None, Meta(description="The beginning of its output; as JSON, if it is no text.")
    ] = None
    created_at: Annotated[Time, Meta(description="When it was started.")]
    damaged: Annotated[
        bool, Meta(description="`true` if the stored run is damaged: only its ids and times are returned.")
    ] = False


class SessionList(Struct, frozen=True):
    """One page of sessions."""

    data: list[Session]
    meta: PaginationInfo
