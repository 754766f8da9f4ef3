"""The routes of approvals, which administrators decide."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spanwise.api.approvals import (
    Approval,
    ApprovalCount,
    ApprovalList,
    ApprovalListQuery,
    ApprovalResolution,
    ApprovalState,
    ApprovalUserQuery,
)
from spanwise.auth.scopes import Need
from spanwise.http.core.operation import Operation
from spanwise.http.core.route import Route
from spanwise.http.endpoints import approvals

if TYPE_CHECKING:
    from collections.abc import Iterator

_operation = partial(Operation, concerns_runs=True)


def approval_routes() -> Iterator[Route]:
    """Yields the routes in the order in which their paths are matched."""
    path = "/approvals/{approval_id}"
    read, write, delete = map(Need.of, ("approvals:read", "approvals:write", "approvals:delete"))
    yield Route(
        "GET",
        "/approvals",
        approvals.list_approvals,
        _operation("get_approvals", "Returns a page of approvals", (ApprovalList,), query=ApprovalListQuery),
        read,
    )
    yield Route(
        "GET",
        "/approvals/count",
        approvals.count_approvals,
        _operation("get_approval_count", "Returns how many approvals wait", (ApprovalCount,), query=ApprovalUserQuery),
        read,
    )
    yield Route(
        "GET",
        path,
        approvals.show_approval,
        _operation("get_approval", "Returns one approval", (Approval,)),
        read,
    )
    yield Route(
        "GET",
        f"{path}/status",
        approvals.show_status,
        _operation("get_approval_status", "Returns whether an approval is decided", (ApprovalState,)),
        read,
    )
    yield Route(
        "POST",
        f"{path}/resolve",
        approvals.resolve_approval,
        _operation(
            "resolve_approval",
            "Decides an approval, so that its run can be continued",
            (Approval,),
            request=ApprovalResolution,
        ),
        write,
        body="search",
    )
    yield Route(
        "DELETE",
        path,
        approvals.delete_approval,
        _operation("delete_approval", "Deletes an approval", success=204),
        delete,
    )
