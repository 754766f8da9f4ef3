"""Approvals: what paused runs of agno's components wait for, as agno keeps it in the databases of these components.

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
    """Which approvals to list.

    Attributes:
        conditions: the members that an approval must have, with their values.
        offset: how many to skip, newest first.
        limit: how many to return.
    """

    conditions: Mapping[str, str]
    offset: int
    limit: int


class Decision(Struct, frozen=True, kw_only=True):
    """The decision about an approval.

    Attributes:
        status: `approved` or `rejected`.
        resolved_by: who decided.
        resolution_data: what the tool is given: values of its form, or its result.
    """

    status: str
    resolved_by: str | None
    resolution_data: dict[str, Any] | None


class Approvals:
    """The approvals of all hosted components."""

    def __init__(self, databases: Iterable[object]) -> None:
        """Collects the databases that can hold approvals; two with one id and table are the same.

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
        """Returns the number of approvals that are not decided.

        Args:
            user_id: whose runs wait for them; None for everyone's.
        """
        counts = [await self._call(each, "get_pending_approval_count", user_id=user_id) for each in self._databases]
        return sum(count or 0 for count in counts)

    async def one(self, approval_id: str, owner: str | None) -> Row:
        """Returns one approval.

        Args:
            approval_id: its id.
            owner: the only user whose approvals the caller may see; None for everyone's.

        Raises:
            NotFoundError: there is no such approval, or the caller may not see it.
        """
        found = (await self._located(approval_id))[1]
        if owner is not None and found.get("user_id") != owner:
            raise NotFoundError("Approval not found")
        return found

    async def decide(self, approval_id: str, owner: str | None, decision: Decision) -> Row:
        """Stores the decision about an approval, and returns the approval. Of two at once, the first one counts.

        Raises:
            NotFoundError: there is no such approval, or the caller is restricted to its own data: it may not decide
                what it asked for itself.
            ConflictError: it has been decided.
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
            NotFoundError: there is no such approval, or the caller is restricted to its own data: an approval is a
                record of who decided what.
        """
        _expect_unrestricted(owner)
        database, _ = await self._located(approval_id)
        if not await self._call(database, "delete_approval", approval_id):
            raise NotFoundError("Approval not found")

    async def _located(self, approval_id: str) -> tuple[object, Row]:
        """Returns an approval and the database that holds it.

        Raises:
            NotFoundError: none does.
        """
        for database in self._databases:
            found = await self._call(database, "get_approval", approval_id)
            if found is not None:
                return database, found
        raise NotFoundError("Approval not found")

    async def _call(self, database: object, name: str, *args: object, **options: object) -> Any:  # noqa: ANN401  # its own
        """Returns what a method of a sync or async database returns; None if the database keeps no approvals.

        Sync methods are called one after the other: agno's define their tables when they first need them, which two
        threads cannot do at once, and report a failure as if there were no approval.
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
