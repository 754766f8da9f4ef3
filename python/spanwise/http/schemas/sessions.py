"""What is asked and answered about sessions, as data.

Source: compat 6.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.models import WITHOUT_NUL, PaginationInfo, StoredText, Text, Time

SESSIONS_DATABASE_ID = "runs"
"""The id of the only database of sessions; trace stores have ids of their own."""

MAX_NAME_LENGTH = 160

KindName: TypeAlias = Literal["agent", "team", "workflow"]
NameText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH, pattern=WITHOUT_NUL)]
IdText: TypeAlias = Annotated[str, Meta(max_length=255, pattern=WITHOUT_NUL)]
Name: TypeAlias = Annotated[NameText | None, Meta(description="Its name, for people.")]
State: TypeAlias = Annotated[dict[str, Any] | None, Meta(description="What components remember in it.")]
Metadata: TypeAlias = Annotated[dict[str, Any] | None, Meta(description="What clients remember about it.")]


class SessionQuery(Struct, frozen=True, kw_only=True):
    """Which session is meant, beside its id. What does not fit is as if it were not there."""

    type: Annotated[KindName | UnsetType, Meta(description="The kind of its component.")] = UNSET
    user_id: Annotated[StoredText | UnsetType, Meta(description="Whose it is.")] = UNSET
    db_id: Annotated[Text, Meta(description="The database of sessions; there is one, `runs`.")] = UNSET


class SessionRunsQuery(SessionQuery, frozen=True, kw_only=True):
    """Which runs of a session are listed."""

    created_after: Annotated[int | UnsetType, Meta(description="Begun at this time or later: seconds since 1970.")] = (
        UNSET
    )
    created_before: Annotated[
        int | UnsetType, Meta(description="Begun at this time or earlier: seconds since 1970.")
    ] = UNSET


class SessionListQuery(SessionQuery, frozen=True, kw_only=True):
    """Which sessions are listed, and in which order. What is given is AND-ed."""

    component_id: Annotated[StoredText | UnsetType, Meta(description="Of this agent, team or workflow.")] = UNSET
    session_name: Annotated[
        StoredText | UnsetType, Meta(description="With this text in their name, whatever the case.")
    ] = UNSET
    sort_by: Annotated[
        Literal["created_at", "updated_at", "session_name"], Meta(description="What they are ordered by.")
    ] = "created_at"
    sort_order: Annotated[
        Literal["asc", "desc"], Meta(description="Whether the least or the greatest comes first.")
    ] = "desc"
    page: Annotated[int, Meta(ge=1, le=2**31, description="Counts from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


class SessionCreation(Struct, frozen=True, kw_only=True):
    """A session that begins without a run."""

    session_id: Annotated[IdText | None, Meta(description="Its id; a new one if not given.")] = None
    session_name: Name = None
    session_state: State = None
    metadata: Metadata = None
    user_id: Annotated[IdText | None, Meta(description="Whose it is; where a token was verified, its `sub`.")] = None
    agent_id: Annotated[IdText | None, Meta(description="The agent that it is for.")] = None
    team_id: Annotated[IdText | None, Meta(description="The team that it is for.")] = None
    workflow_id: Annotated[IdText | None, Meta(description="The workflow that it is for.")] = None


class SessionCreationQuery(Struct, frozen=True, kw_only=True):
    """What kind of session begins."""

    type: Annotated[KindName, Meta(description="The kind of its component.")] = "agent"
    db_id: Annotated[Text, Meta(description="The database of sessions; there is one, `runs`.")] = UNSET


class SessionRenaming(Struct, frozen=True, kw_only=True):
    """A new name for a session."""

    session_name: Annotated[NameText, Meta(description="Its name, for people.")]


class SessionUpdate(Struct, frozen=True, kw_only=True):
    """What of a session changes. What is left out, or null, stays as it is; an object is replaced as a whole."""

    session_name: Name = None
    session_state: State = None
    metadata: Metadata = None


class Session(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session. What it does not have is left out."""

    session_id: Annotated[str, Meta(description="Its id.")]
    session_name: Annotated[str, Meta(description="How its first message begins, unless somebody named it.")]
    session_type: Annotated[KindName, Meta(description="The kind of its component.")]
    user_id: Annotated[str | None, Meta(description="Whose it is.")] = None
    agent_id: Annotated[str | None, Meta(description="The agent of its first run.")] = None
    team_id: Annotated[str | None, Meta(description="The team of its first run.")] = None
    workflow_id: Annotated[str | None, Meta(description="The workflow of its first run.")] = None
    created_at: Annotated[Time, Meta(description="When it began.")]
    updated_at: Annotated[Time, Meta(description="When it changed last.")]
    metadata: Metadata = None


class ChatMessage(Struct, frozen=True):
    """One message of a conversation."""

    role: Annotated[Literal["user", "assistant"], Meta(description="Who said it.")]
    content: Annotated[Any, Meta(description="What was said: text, or what a component returned.")]
    created_at: Annotated[int, Meta(description="When its run began: seconds since 1970.")]


class SessionDetail(Session, frozen=True, kw_only=True, omit_defaults=True):
    """One session, with what was said in it. What it does not have is left out."""

    agent_session_id: Annotated[str | None, Meta(description="Its id again, if it is an agent's.")] = None
    session_state: Annotated[dict[str, Any], Meta(description="What components remember in it.")]
    chat_history: Annotated[list[ChatMessage], Meta(description="What was said, the oldest first.")]


class SessionList(Struct, frozen=True):
    """One page of sessions."""

    data: list[Session]
    meta: PaginationInfo
