"""Approvals.

Source: `docs/reference/api-sessions.md#approvals`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from spanwise.api.sessions import IdText
from spanwise.api.shared import PaginationInfo, StoredText

ApprovalType: TypeAlias = Literal["required", "audit"]
ApprovalStatus: TypeAlias = Literal["pending", "approved", "rejected", "expired", "cancelled"]
MAX_PAGE = 100
_Condition: TypeAlias = Annotated[StoredText | UnsetType, Meta(description="Only approvals that have this value.")]


class ApprovalUserQuery(Struct, frozen=True, kw_only=True):
    """The query of the number of approvals."""

    user_id: Annotated[StoredText | UnsetType, Meta(description="Only approvals for runs of this user.")] = UNSET


class ApprovalListQuery(ApprovalUserQuery, frozen=True, kw_only=True):
    """The query of a page of approvals. All conditions must hold."""

    status: Annotated[ApprovalStatus | UnsetType, Meta(description="Only approvals in this state.")] = UNSET
    approval_type: Annotated[
        ApprovalType | UnsetType,
        Meta(description="True if a run waits for the decision; false if it is only recorded."),
    ] = UNSET
    source_type: _Condition = UNSET
    pause_type: _Condition = UNSET
    agent_id: _Condition = UNSET
    team_id: _Condition = UNSET
    workflow_id: _Condition = UNSET
    schedule_id: _Condition = UNSET
    run_id: _Condition = UNSET
    page: Annotated[int, Meta(ge=1, le=MAX_PAGE, description="The number of the page, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=1000, description="Items per page.")] = 100


class ApprovalResolution(Struct, frozen=True, kw_only=True):
    """Decides an approval."""

    status: Annotated[Literal["approved", "rejected"], Meta(description="The decision.")]
    resolved_by: Annotated[
        IdText | None, Meta(description="The user who decided. The `sub` of a verified token takes precedence.")
    ] = None
    resolution_data: Annotated[
        dict[str, Any] | None,
        Meta(description="The input of the tool: the `values` of its form, or the `result` of an external execution."),
    ] = None


class Approval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One approval. Members that it does not have are left out."""

    id: Annotated[str, Meta(description="Its id.")]
    run_id: Annotated[str, Meta(description="The run that it is about.")]
    session_id: Annotated[str, Meta(description="The session of that run.")]
    status: Annotated[str, Meta(description="`pending`, `approved`, `rejected`, `expired` or `cancelled`.")]
    source_type: Annotated[str, Meta(description="The kind of component that waits.")]
    source_name: Annotated[str | None, Meta(description="The name of that component.")] = None
    approval_type: Annotated[ApprovalType | None, Meta(description="`required` if the run waits for it.")] = None
    pause_type: Annotated[str | None, Meta(description="The kind of requirement, such as `confirmation`.")] = None
    tool_name: Annotated[str | None, Meta(description="The tool that is to be called.")] = None
    tool_args: Annotated[dict[str, Any] | None, Meta(description="The arguments of the call.")] = None
    agent_id: Annotated[str | None, Meta(description="The agent that waits.")] = None
    team_id: Annotated[str | None, Meta(description="The team that waits.")] = None
    workflow_id: Annotated[str | None, Meta(description="The workflow that waits.")] = None
    user_id: Annotated[str | None, Meta(description="The user whose run waits.")] = None
    schedule_id: Annotated[str | None, Meta(description="The schedule of the run.")] = None
    schedule_run_id: Annotated[str | None, Meta(description="The run of the schedule.")] = None
    requirements: Annotated[list[dict[str, Any]] | None, Meta(description="The requirement of the run.")] = None
    context: Annotated[dict[str, Any] | None, Meta(description="Where in the component the run waits.")] = None
    resolution_data: Annotated[
        dict[str, Any] | None, Meta(description="The input that the decision gave the tool.")
    ] = None
    resolved_by: Annotated[str | None, Meta(description="Who decided.")] = None
    resolved_at: Annotated[int | None, Meta(description="When: seconds since 1970.")] = None
    run_status: Annotated[str | None, Meta(description="The state of the run, as agno noted it.")] = None
    expires_at: Annotated[int | None, Meta(description="When it expires: seconds since 1970.")] = None
    created_at: Annotated[int | None, Meta(description="When the run paused: seconds since 1970.")] = None
    updated_at: Annotated[int | None, Meta(description="When it was last changed: seconds since 1970.")] = None


class ApprovalList(Struct, frozen=True):
    """One page of approvals."""

    data: list[Approval]
    meta: PaginationInfo


class ApprovalCount(Struct, frozen=True):
    """The number of approvals that are not decided."""

    count: Annotated[int, Meta(ge=0, description="The number of pending approvals.")]


class ApprovalState(Struct, frozen=True, omit_defaults=True):
    """The state of one approval, for clients that wait for it."""

    approval_id: Annotated[str, Meta(description="Its id.")]
    status: Annotated[str, Meta(description="`pending`, `approved`, `rejected`, `expired` or `cancelled`.")]
    run_id: Annotated[str, Meta(description="The run that it is about.")]
    resolved_at: Annotated[int | None, Meta(description="When it was decided: seconds since 1970.")] = None
    resolved_by: Annotated[str | None, Meta(description="Who decided.")] = None
