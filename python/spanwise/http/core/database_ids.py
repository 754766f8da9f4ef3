"""Resolves the `db_id` of a request. See `docs/reference/api.md#databases`.

A service has its trace stores and one database of sessions and runs. Each has an id of its own, and also answers to the
database ids of the hosted components. Clients read such an id in the description of a component, and use it to request
the component's sessions and traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SESSIONS_DATABASE_ID = "runs"
"""The id of the session and run database."""


class DatabaseIds:
    """The ids that requests may pass as `db_id`. An id selects a database; it does not filter its contents.

    Attributes:
        traces: the ids of trace stores, the default store first, then the aliases of the default store.
        sessions: the ids of the session database, its own id first.
        components: the ids of the databases of hosted components.
    """

    def __init__(self, stores: Sequence[str], descriptions: Iterable[Mapping[str, Any]]) -> None:
        """Collects the ids.

        Args:
            stores: the ids of the trace stores, the default one first.
            descriptions: the hosted components as listings describe them. Every `db_id` in a description is an id.
        """
        self._stores = tuple(stores)
        self.components = tuple(dict.fromkeys(each for described in descriptions for each in _shown(described)))
        self.traces = tuple(dict.fromkeys((*stores, *self.components)))
        self.sessions = tuple(dict.fromkeys((SESSIONS_DATABASE_ID, *self.components)))

    @property
    def all(self) -> tuple[str, ...]:
        """Returns every id: trace stores, then sessions, then components."""
        return tuple(dict.fromkeys((*self._stores, *self.sessions)))

    def trace_store(self, db_id: str | None) -> str | None:
        """Returns the id of the trace store that `db_id` selects; None for the default store.

        Args:
            db_id: the value from the request; missing and empty values select the default store.

        Raises:
            NotFoundError: no trace store has this id.
        """
        _expect_known(db_id, self.traces)
        return db_id if db_id in self._stores else None

    def expect_sessions(self, db_id: str | None) -> None:
        """Checks that `db_id` selects the session database. A missing or empty id does.

        Raises:
            NotFoundError: the id belongs to another database or is unknown.
        """
        _expect_known(db_id, self.sessions)


def _expect_known(db_id: str | None, known: tuple[str, ...]) -> None:
    if db_id and db_id not in known:
        raise NotFoundError(f"No database found with id '{db_id}'")


def _shown(described: object) -> Iterator[str]:
    """Yields every `db_id` in a description, including those of members and steps."""
    if isinstance(described, dict):
        db_id = described.get("db_id")
        if isinstance(db_id, str) and db_id:
            yield db_id
        described = described.values()
    elif not isinstance(described, list):
        return
    for each in described:
        yield from _shown(each)
