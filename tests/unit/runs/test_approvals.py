"""Approvals over agno's databases: several, one twice, sync and async, and those without approvals."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from agno.db.in_memory import InMemoryDb
from agno.db.sqlite import SqliteDb

from spanwise.errors import ConflictError, NotFoundError
from spanwise.runs.approvals import ApprovalPageQuery, Approvals, Decision

if TYPE_CHECKING:
    from pathlib import Path

APPROVED = Decision(status="approved", resolved_by="root", resolution_data=None)


def database(folder: Path, name: str) -> SqliteDb:
    return SqliteDb(db_file=str(folder / f"{name}.db"), id=name)


def add(db: Any, number: int, user_id: str | None = "ann") -> None:
    row = {"id": f"a{number}", "run_id": f"r{number}", "session_id": "s", "source_type": "agent"}
    stored = {**row, "status": "pending", "pause_type": "confirmation", "user_id": user_id, "created_at": number}
    db.create_approval(stored)


class AsyncDatabase:
    """A sync database of agno with the methods of an async one."""

    def __init__(self, db: SqliteDb) -> None:
        self.id = db.id
        self._db = db

    async def get_approvals(self, **options: Any) -> Any:
        return self._db.get_approvals(**options)

    async def get_approval(self, approval_id: str) -> Any:
        return self._db.get_approval(approval_id)

    async def get_pending_approval_count(self, user_id: str | None) -> Any:
        return self._db.get_pending_approval_count(user_id=user_id)

    async def update_approval(self, approval_id: str, **options: Any) -> Any:
        return self._db.update_approval(approval_id, **options)

    async def delete_approval(self, approval_id: str) -> Any:
        return self._db.delete_approval(approval_id)


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    first, second = database(tmp_path, "first"), database(tmp_path, "second")
    for number in range(0, 10, 2):
        add(first, number)
    for number in range(1, 10, 2):
        add(second, number, "bob" if number < 9 else None)
    again, unable, none = database(tmp_path, "first"), InMemoryDb(), object()  # type: ignore[no-untyped-call]
    return Approvals([first, again, AsyncDatabase(second), unable, none, None])


def page(approvals: Approvals, number: int, limit: int, **conditions: str) -> tuple[list[str], int]:
    query = ApprovalPageQuery(conditions=conditions, offset=(number - 1) * limit, limit=limit)
    rows, total = asyncio.run(approvals.page(query))
    return [row["id"] for row in rows], total


@pytest.mark.parametrize("limit", [1, 3, 10, 100])
def test_pages_add_up_to_all_of_them_newest_first(approvals: Approvals, limit: int) -> None:
    pages = [page(approvals, number, limit) for number in range(1, 12)]
    assert {total for _, total in pages} == {10}
    assert [each for ids, _ in pages for each in ids] == [f"a{number}" for number in reversed(range(10))]


def test_conditions_hold_in_every_database(approvals: Approvals) -> None:
    assert page(approvals, 1, 10, user_id="bob") == (["a7", "a5", "a3", "a1"], 4)
    assert page(approvals, 1, 10, user_id="ann", run_id="r4") == (["a4"], 1)
    assert page(approvals, 1, 10, status="approved") == ([], 0)
    assert [asyncio.run(approvals.pending_count(user)) for user in (None, "ann", "bob", "eve")] == [10, 5, 4, 0]


@pytest.mark.parametrize("approval_id", ["a2", "a3"])
def test_the_first_decision_counts(approvals: Approvals, approval_id: str) -> None:
    async def race() -> list[Any]:
        decisions = [
            Decision(status="approved", resolved_by=str(each), resolution_data={"values": {}}) for each in range(8)
        ]
        return await asyncio.gather(
            *(approvals.decide(approval_id, None, each) for each in decisions), return_exceptions=True
        )

    results = asyncio.run(race())
    [decided] = [each for each in results if isinstance(each, dict)]
    assert all(isinstance(each, ConflictError) for each in results if each is not decided)
    found = asyncio.run(approvals.one(approval_id, None))
    assert (found["status"], found["resolved_by"]) == ("approved", decided["resolved_by"])
    assert found["resolution_data"] == {"values": {}}
    with pytest.raises(ConflictError, match="already 'approved'"):
        asyncio.run(approvals.decide(approval_id, None, APPROVED))
    assert asyncio.run(approvals.pending_count(None)) == 9


def test_a_restricted_caller_sees_its_own_and_decides_none(approvals: Approvals) -> None:
    assert asyncio.run(approvals.one("a2", "ann"))["run_id"] == "r2"
    for approval_id, owner in (("a3", "ann"), ("a9", "ann"), ("none", "ann"), ("none", None)):
        with pytest.raises(NotFoundError, match="Approval not found"):
            asyncio.run(approvals.one(approval_id, owner))
    for approval_id in ("a2", "a3", "none"):
        with pytest.raises(NotFoundError, match="Approval not found"):
            asyncio.run(approvals.decide(approval_id, "ann", APPROVED))
        with pytest.raises(NotFoundError, match="Approval not found"):
            asyncio.run(approvals.delete(approval_id, "ann"))
    assert asyncio.run(approvals.pending_count(None)) == 10


@pytest.mark.parametrize("approval_id", ["a2", "a3"])
def test_a_deleted_one_is_gone(approvals: Approvals, approval_id: str) -> None:
    asyncio.run(approvals.delete(approval_id, None))
    for action in (approvals.one(approval_id, None), approvals.delete(approval_id, None)):
        with pytest.raises(NotFoundError):
            asyncio.run(action)
    with pytest.raises(NotFoundError):
        asyncio.run(approvals.decide(approval_id, None, APPROVED))
    assert page(approvals, 1, 10)[1] == 9


def test_without_a_database_there_are_none() -> None:
    empty = Approvals([None, InMemoryDb()])  # type: ignore[no-untyped-call]
    assert page(empty, 1, 10) == ([], 0)
    assert asyncio.run(empty.pending_count(None)) == 0
    with pytest.raises(NotFoundError):
        asyncio.run(empty.one("a", None))
