"""Approvals that paused runs of agno's components wait for, in the databases of these components.

See `docs/reference/api-sessions.md#approvals`.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from spanwise.components.callables import in_thread
from spanwise.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

Row: TypeAlias = "dict[str, Any]"
"""An approval as agno's database returns it."""

_METHODS = ("get_approvals", "get_approval", "get_pending_approval_count", "update_approval", "delete_approval")


class ApprovalPageQuery(Struct, frozen=True, kw_only=True):
    """The approvals to list.

    Attributes:
        conditions: the members that an approval must have, with their values.
        offset: the number of approvals to skip, newest first.
        limit: the number of approvals to return.
    """

    conditions: Mapping[str, str]
    offset: int
    limit: int


class Decision(Struct, frozen=True, kw_only=True):
    """The decision about an approval.

    Attributes:
        status: `approved` or `rejected`.
        resolved_by: the user who decided.
        resolution_data: the input for the tool: values of its form, or its result.
    """

    status: str
    resolved_by: str | None
    resolution_data: dict[str, Any] | None


class Approvals:
    """The approvals of all hosted components."""

    def __init__(self, databases: Iterable[object]) -> None:
        """Collects the databases that can hold approvals. Two with the same id and table are one.

        Args:
            databases: the databases of the hosted components, of any framework.
        """
        usable = [each for each in databases if all(callable(getattr(each, name, None)) for name in _METHODS)]
        named = {(getattr(each, "id", None), getattr(each, "approvals_table_name", None)): each for each in usable}
        self._databases = tuple(named.values())
        self._sync_calls = asyncio.Lock()

    async def page(self, query: ApprovalPageQuery) -> tuple[list[Row], int]:
        """Returns one page of approvals, newest first, and their number on all pages."""
        found: dict[str, Row] = {}
        total = 0
        needed = query.offset + query.limit
        for database in self._databases:
            listed = await self._call(database, "get_approvals", **query.conditions, limit=needed, page=1)
            rows, count = listed or ([], 0)
            found |= {row["id"]: row for row in rows}
            total += count
        newest_first = sorted(found.values(), key=lambda row: (-(row.get("created_at") or 0), row["id"]))
        return newest_first[query.offset : needed], total

    async def pending_count(self, user_id: str | None) -> int:
        """Returns the number of pending approvals.

        Args:
            user_id: the user whose runs wait for them; None for everyone's.
        """
        counts = [await self._call(each, "get_pending_approval_count", user_id=user_id) for each in self._databases]
        return sum(count or 0 for count in counts)

    async def one(self, approval_id: str, owner: str | None) -> Row:
        """Returns one approval.

        Args:
            approval_id: its id.
            owner: the only user whose approvals the caller may see; None for everyone's.

        Raises:
            NotFoundError: the approval does not exist, or the caller may not see it.
        """
        found = (await self._located(approval_id))[1]
        if owner is not None and found.get("user_id") != owner:
            raise NotFoundError("Approval not found")
        return found

    async def decide(self, approval_id: str, owner: str | None, decision: Decision) -> Row:
        """Stores the decision about an approval, and returns the approval. The first of two concurrent decisions wins.

        Raises:
            NotFoundError: the approval does not exist. Or the caller is restricted to its own data, and so may not
                decide its own requests.
            ConflictError: the approval is already decided.
        """
        _expect_unrestricted(owner)
        database, _ = await self._located(approval_id)
        values = {"status": decision.status, "resolved_by": decision.resolved_by, "resolved_at": int(time.time())}
        data = {} if decision.resolution_data is None else {"resolution_data": decision.resolution_data}
        change = {"expected_status": "pending", **values, **data}
        decided: Row | None = await self._call(database, "update_approval", approval_id, **change)
        if decided is None:
            found = (await self._located(approval_id))[1]
            raise ConflictError(f"Approval is already '{found.get('status')}' and cannot be resolved")
        return decided

    async def delete(self, approval_id: str, owner: str | None) -> None:
        """Deletes an approval.

        Raises:
            NotFoundError: the approval does not exist. Or the caller is restricted to its own data, and so may not
                delete the record of a decision.
        """
        _expect_unrestricted(owner)
        database, _ = await self._located(approval_id)
        if not await self._call(database, "delete_approval", approval_id):
            raise NotFoundError("Approval not found")

    async def _located(self, approval_id: str) -> tuple[object, Row]:
        """Returns an approval and the database that holds it.

        Raises:
            NotFoundError: no database has the approval.
        """
        for database in self._databases:
            found = await self._call(database, "get_approval", approval_id)
            if found is not None:
                return database, found
        raise NotFoundError("Approval not found")

    async def _call(self, database: object, name: str, *args: object, **options: object) -> Any:  # noqa: ANN401  # the method's own result type
        """Calls a method of a sync or async database, and returns its result; None if the database has no approvals.

        Sync methods are called one at a time. agno's databases define their tables at the first use, which fails in two
        concurrent threads and looks like a missing approval.
        """
        method = getattr(database, name)
        try:
            if inspect.iscoroutinefunction(method):
                return await method(*args, **options)
            async with self._sync_calls:
                return await in_thread(lambda: method(*args, **options))
        except NotImplementedError:
            return None


def _expect_unrestricted(owner: str | None) -> None:
    if owner is not None:
        raise NotFoundError("Approval not found")
