"""The values of `db_id`: every id that a description shows, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from spanwise.errors import NotFoundError
from spanwise.http.core.database_ids import SESSIONS_DATABASE_ID, DatabaseIds

STORES = ("main", "other")
MEMBER = {"id": "member", "db_id": "of-member"}
DESCRIPTIONS: list[dict[str, Any]] = [
    {"id": "ann", "db_id": "theirs"},
    {"id": "bob", "db_id": "theirs"},
    {"id": "tim", "members": [MEMBER, {"members": [{"db_id": "deep"}]}]},
    {"id": "flow", "db_id": "other", "steps": [{"name": "ask", "agent": {"db_id": "of-step"}}]},
    {"id": "none", "db_id": "", "steps": []},
    {"id": "strange", "db_id": 5},
]
COMPONENTS = ("theirs", "of-member", "deep", "other", "of-step")


@pytest.fixture
def ids() -> DatabaseIds:
    return DatabaseIds(STORES, DESCRIPTIONS)


def test_every_id_is_listed_once(ids: DatabaseIds) -> None:
    assert ids.components == COMPONENTS
    assert ids.traces == ("main", "other", "theirs", "of-member", "deep", "of-step")
    assert ids.sessions == (SESSIONS_DATABASE_ID, *COMPONENTS)
    assert ids.all == ("main", "other", "runs", "theirs", "of-member", "deep", "of-step")
    assert set(ids.all) == {*ids.traces, *ids.sessions}


def test_an_id_of_a_component_names_the_default_store(ids: DatabaseIds) -> None:
    assert [ids.trace_store(each) for each in ids.traces] == ["main", "other", None, None, None, None]
    assert (ids.trace_store(None), ids.trace_store("")) == (None, None)


@pytest.mark.parametrize("db_id", [*COMPONENTS, SESSIONS_DATABASE_ID, "", None])
def test_an_id_of_a_component_names_the_sessions(ids: DatabaseIds, db_id: str | None) -> None:
    ids.expect_sessions(db_id)


@pytest.mark.parametrize("db_id", ["Theirs", "theirs ", "main", "ann", "x" * 5000, "\0"])
def test_another_one_is_unknown(ids: DatabaseIds, db_id: str) -> None:
    with pytest.raises(NotFoundError, match="No database found with id '"):
        ids.expect_sessions(db_id)
    if db_id != "main":
        with pytest.raises(NotFoundError, match="No database found with id '"):
            ids.trace_store(db_id)


def test_sessions_are_no_traces() -> None:
    with pytest.raises(NotFoundError, match="No database found with id 'runs'"):
        DatabaseIds(STORES, []).trace_store(SESSIONS_DATABASE_ID)
