"""The traces that one caller may see. Whatever is read through here is restricted in the engine, before all else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Raw

from spanwise.errors import NotFoundError
from spanwise.traces.search import compile_filter, search_page

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spanwise._engine import Filter
    from spanwise.models import SearchRequest
    from spanwise.traces.download import Exporting
    from spanwise.traces.lazy_store import OpeningStore
    from spanwise.traces.pools import Pool
    from spanwise.traces.search_pool import Searching


@dataclass(frozen=True)
class View:
    """One store, as one caller sees it.

    Attributes:
        owner: the user whose traces these are; None for everyone's.
    """

    _store: OpeningStore
    _searching: Searching
    _changing: Pool
    _exporting: Exporting
    owner: str | None

    async def search(self, request: SearchRequest, *, detail: bool = True) -> bytes:
        """Returns the finished JSON body that answers `request`. A cancelled caller cancels the search.

        Args:
            request: what is asked for.
            detail: whether runs come with output, error and span tree.

        Raises:
            SpanwiseError: see `search_page`.
            UnavailableError: too many searches at once, no answer before the deadline, or no store yet.
        """
        store = self._store.opened()
        return await self._searching.run(
            lambda cancel: search_page(store, self._compiled, request, cancel, detail=detail)
        )

    async def trace(self, trace_id: str) -> bytes:
        """Returns the finished JSON of one trace with its span tree.

        Raises:
            NotFoundError: no such trace, or not for this caller.
        """
        store = self._store.opened()
        found = await self._searching.run(lambda _: store.trace(trace_id, self._compiled()))
        if found is None:
            raise NotFoundError("Trace not found")
        return found

    async def span(self, trace_id: str, span_id: str) -> bytes:
        """Returns the finished JSON of one span, without its children.

        Raises:
            NotFoundError: no such span in that trace, or not for this caller.
        """
        store = self._store.opened()
        found = await self._searching.run(lambda _: store.span(trace_id, span_id, self._compiled()))
        if found is None:
            raise NotFoundError("Span not found")
        return found

    async def export(self, source: Raw, form: str) -> AsyncGenerator[bytes, None]:
        """Returns the pieces of a file with the traces that a filter matches, all of one state of the store.

        Args:
            source: the filter that they match.
            form: one of `spanwise.traces.download.FORMATS`.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is no valid expression.
            UnavailableError: too many exports at once, or no store yet.
        """
        store = self._store.opened()
        return await self._exporting.run(lambda: store.export(self._compiled(source), form))

    async def delete(self, source: Raw, *, dry_run: bool) -> int:
        """Returns how many traces were deleted. It is done even if the caller does not wait for the answer.

        Args:
            source: the filter that they match.
            dry_run: whether they are only counted.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is no valid expression.
            UnavailableError: nothing was deleted; the same request may succeed later.
        """
        self._store.opened()
        return await self._changing.run(lambda: self._store.delete(self._compiled(source), dry_run=dry_run))

    def _compiled(self, source: Raw = Raw(b"null")) -> Filter:  # noqa: B008  # immutable
        compiled = compile_filter(source)
        return compiled if self.owner is None else compiled.restrict("user_id", self.owner)
