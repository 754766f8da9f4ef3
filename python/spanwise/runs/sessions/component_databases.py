"""The databases in which hosted components keep their own sessions. Deleting a session deletes it there too."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from spanwise.components import Kind
from spanwise.components.adapting import delete_session
from spanwise.components.parts import databases_of
from spanwise.database import unique_session_id
from spanwise.errors import ConflictError, NotFoundError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanwise.database import ComponentSession, SessionRecord
    from spanwise.registry import Registry

_log = logging.getLogger(__name__)


class ComponentDatabases:
    """The databases of the components of one service."""

    def __init__(self, registry: Registry) -> None:
        """Creates the collection.

        Args:
            registry: the hosted components and factories.
        """
        self._registry = registry

    def expect_hosted(self, session: SessionRecord, components: Iterable[ComponentSession]) -> None:
        """Checks that every component that keeps a session in its own database is hosted.

        Raises:
            ConflictError: a component is not hosted, so its database is unknown.
        """
        for each in components:
            if each.has_database and not list(self._databases(each)):
                raise ConflictError(
                    f"session '{session.session_id}' cannot be deleted: the {each.kind} `{each.component_id}`, which "
                    "keeps it in a database of its own, is not hosted with that database any more"
                )

    async def delete(self, session: SessionRecord, components: Iterable[ComponentSession]) -> None:
        """Deletes a session from the databases of the components that ran in it. The call may be repeated.

        Raises:
            UnavailableError: a database failed.
        """
        for each in components:
            session_id = unique_session_id(session, each.user_id)
            user_ids = {None, session.user_id, each.user_id}
            for database in self._databases(each):
                try:
                    await delete_session(database, session_id, user_ids)
                except Exception as error:  # the program's database has its own driver and errors
                    _log.warning("the database of %s `%s` failed", each.kind, each.component_id, exc_info=True)
                    raise UnavailableError(
                        f"session '{session.session_id}' is not deleted: the database of {each.kind} "
                        f"`{each.component_id}` failed ({type(error).__name__}); try again"
                    ) from error

    def _databases(self, components: ComponentSession) -> Iterator[Any]:
        """Yields the databases of a component; empty if it is not hosted."""
        try:
            entry = self._registry.entry(Kind(components.kind), components.component_id)
        except NotFoundError:
            return
        yield from databases_of(entry)
