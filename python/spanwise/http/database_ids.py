"""What the `db_id` of a request names. See `docs/reference/api.md#databases`.

A service has its trace stores and one database of sessions and runs. Beside their own ids, these have the ids of the
databases of the hosted components, which they stand in for: clients read such an id in the description of a component,
and ask for its sessions and traces by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SESSIONS_DATABASE_ID = "runs"
"""The id of the database of sessions and runs."""


class DatabaseIds:
    """The ids that requests may give as `db_id`. An id names a database; it does not restrict what is found there.

    Attributes:
        traces: the ids of trace stores, the default one first, then those that name the default store as well.
        sessions: the ids of the database of sessions, its own first.
        components: the ids of the databases of hosted components.
    """

    def __init__(self, stores: Sequence[str], descriptions: Iterable[Mapping[str, Any]]) -> None:
        """Collects the ids.

        Args:
            stores: the ids of the trace stores, the default one first.
            descriptions: what listings show of the hosted components. Every `db_id` in them is an id.
        """
        self._stores = tuple(stores)
        self.components = tuple(dict.fromkeys(each for described in descriptions for each in _shown(described)))
        self.traces = tuple(dict.fromkeys((*stores, *self.components)))
        self.sessions = tuple(dict.fromkeys((SESSIONS_DATABASE_ID, *self.components)))

    @property
    def all(self) -> tuple[str, ...]:
        """Returns every id: those of the trace stores, that of the sessions, then those of the components."""
        return tuple(dict.fromkeys((*self._stores, *self.sessions)))

    def trace_store(self, db_id: str | None) -> str | None:
        """Returns the id of the trace store that `db_id` names; None for the default one.

        Args:
            db_id: as the request has it; absent and empty name the default store.

        Raises:
            NotFoundError: it names none.
        """
        _expect_known(db_id, self.traces)
        return db_id if db_id in self._stores else None

    def expect_sessions(self, db_id: str | None) -> None:
        """Checks that `db_id` names the database of sessions, as an absent and an empty one do.

        Raises:
            NotFoundError: it does not.
        """
        _expect_known(db_id, self.sessions)


def _expect_known(db_id: str | None, known: tuple[str, ...]) -> None:
    if db_id and db_id not in known:
        raise NotFoundError(f"No database found with id '{db_id}'")


def _shown(described: object) -> Iterator[str]:
    """Yields every `db_id` in a description, those of members and steps too."""
    if isinstance(described, dict):
        db_id = described.get("db_id")
        if isinstance(db_id, str) and db_id:
            yield db_id
        described = described.values()
    elif not isinstance(described, list):
        return
    for each in described:
        yield from _shown(each)
