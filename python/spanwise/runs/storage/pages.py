"""The runs of a session, encoded page by page. Only one page is in memory, and it is charged before it is read.

See docs/reference/limits.md#shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from spanwise.errors import PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.database import Database, RunRecord, SessionRunQuery
    from spanwise.fair_budget import Lease
    from spanwise.runs.storage.writer import DatabaseWriter

PAGE_BYTES = 256 * 1024
"""Stored bytes of a page. A single run may be larger."""
PAGES_OF_BUDGET = 32
"""A page takes at most this fraction of the budget, so that a small budget serves several callers."""
PAGE_RUNS = 256
MEMORY_FACTOR = 4
"""The memory of a page as a multiple of its stored bytes: the driver's buffer, the row, its checksum, and the JSON."""

Encoded = TypeVar("Encoded")


class Page(NamedTuple, Generic[Encoded]):
    """One page of runs.

    Attributes:
        runs: the encoded runs.
        last: the number of the last run; for an empty page, the number before it.
        is_last: True for the last page.
    """

    runs: list[Encoded]
    last: int
    is_last: bool


def reserve(lease: Lease, stored_bytes: int) -> None:
    """Takes the memory for reading and sending rows. It may be called again with another size.

    Args:
        lease: the caller's lease on the response budget.
        stored_bytes: the bytes of the rows in the database.

    Raises:
        PayloadTooLargeError: the rows need more memory than a caller may ever hold.
        UnavailableError: the budget, or the caller's share of it, is used up.
    """
    needed = MEMORY_FACTOR * stored_bytes
    if needed > lease.largest_share:
        raise PayloadTooLargeError(
            f"a row of {stored_bytes} bytes needs more memory than `response_buffer_bytes` allows a caller"
        )
    lease.resize(max(needed, lease.amount))


class RunPages(Generic[Encoded]):
    """The runs that a query selects, oldest first.

    Attributes:
        is_done: True once the last page was read.
    """

    def __init__(self, writer: DatabaseWriter, lease: Lease, encode: Callable[[RunRecord], Encoded]) -> None:
        """Starts before the first run.

        Args:
            writer: gives access to the database.
            lease: the caller's lease on the response budget, until the last page is sent.
            encode: returns a run as it is sent; called in the thread of the database.
        """
        self.is_done = False
        self._writer = writer
        self._lease = lease
        self._encode = encode
        self._page_bytes = min(PAGE_BYTES, lease.capacity // PAGES_OF_BUDGET)
        self._query: SessionRunQuery | None = None
        self._last = 0

    async def first(self, find: Callable[[Database], SessionRunQuery]) -> list[Encoded]:
        """Returns the runs of the first page.

        Args:
            find: returns the query; called within the transaction that reads the page.

        Raises:
            PayloadTooLargeError: a run needs more memory than a caller may hold.
            UnavailableError: the budget, or the caller's share of it, is used up, or the database does not respond.
            Exception: the error of `find`.
        """

        def read(database: Database) -> tuple[SessionRunQuery, Page[Encoded]]:
            query = find(database)
            found = database.run_bytes(query)
            reserve(self._lease, max(found.largest, min(found.total, self._page_bytes)))
            return query, self._read(database, query, 0)

        self._query, page = await self._writer.transact(read)
        return self._accept(page)

    async def next(self) -> list[Encoded]:
        """Returns the runs of the next page.

        Raises:
            UnavailableError: the database does not respond, or a run has grown beyond the caller's share.
        """
        query, last = self._query, self._last
        assert query is not None, "the first page comes first"  # noqa: S101  # callers read it first
        return self._accept(await self._writer.transact(lambda database: self._read(database, query, last)))

    def _accept(self, page: Page[Encoded]) -> list[Encoded]:
        self._last, self.is_done = page.last, page.is_last
        return page.runs

    def _read(self, database: Database, query: SessionRunQuery, after: int) -> Page[Encoded]:
        """Returns the page after a run. It changes only the lease, because a transaction may be repeated."""
        sizes = database.run_sizes(query, after, PAGE_RUNS)
        numbers: list[int] = []
        total = 0
        for number, size in sizes:
            if numbers and total + size > self._page_bytes:
                break
            numbers.append(number)
            total += size
        reserve(self._lease, total)
        runs = [self._encode(each) for each in database.runs(numbers)] if numbers else []
        return Page(runs, numbers[-1] if numbers else after, len(numbers) == len(sizes) < PAGE_RUNS)
