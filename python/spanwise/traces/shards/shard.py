"""What a shard does. Calls take and return plain values, so that they can be made in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from spanwise.traces.port import Download


class Ask(Struct, frozen=True):
    """What a search is, on every shard.

    Attributes:
        layout: the number of the layout that says which traces the shard has.
        search: the number of the search, which no other search of the caller has.
        query: what is searched for, with the owner that it is restricted to, as `Gathering.query` returns it.
        seconds: how long the shard keeps the state that it first answers from.
    """

    layout: int
    search: int
    query: bytes
    seconds: float


Event = tuple[int, str, bytes]
"""An event of a tail: its number, its name and its JSON."""


class Shard(Protocol):
    """One shard. All its methods block, may be called from several threads at once, and raise `SpanwiseError`.

    A shard that is not of the layout that it is asked for raises `StaleLayoutError`.
    """

    def answer(self, ask: Ask, question: bytes, *, is_first: bool) -> bytes:
        """Returns the answer to a question of a `Gathering`. All questions of a search are answered from one state.

        Args:
            ask: the search.
            question: the question.
            is_first: whether it is the first one of the search, which takes the present state.

        Raises:
            PinLostError: it is not the first one, and the state of the search is not kept.
            CancelledError: the search has ended.
        """
        ...

    def end(self, search: int) -> None:
        """Cancels what is being answered of a search, and forgets its state. A no-op if nothing is known of it."""
        ...

    def ingest(self, layout: int, received: int, part: bytes) -> tuple[int, int, str]:
        """Stores a part of a request, and returns once it is durable.

        Args:
            layout: the number of the layout by which the request was divided.
            received: when the request was received, in microseconds since 1970.
            part: the part, as `SplitRequest.parts` has it.

        Returns:
            How many spans and log records were accepted, how many rejected, and why the first of these was.
        """
        ...

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        """Returns how many traces were deleted, or would be. They are deleted together, and durably."""
        ...

    def export(self, ask: Ask, form: str) -> Download:
        """Returns the matching traces as the bytes of a file of a format, in chunks, all of one state."""
        ...

    def open_tail(self, ask: Ask) -> None:
        """Begins to follow the traces that a search matches, under its number, until `close_tail`."""
        ...

    def poll_tails(self, wanted: list[tuple[int, int, int | None]]) -> tuple[list[list[Event]], bool, list[str]]:
        """Brings readers up to date, and takes the next events of each.

        Args:
            wanted: of each reader its number, at most how many events, and the event after which they begin again, if
                they do.

        Returns:
            The events of each reader, whether something is due later, and what is wrong with traces that were read.

        Raises:
            PinLostError: there is no such reader, or it cannot go back so far.
        """
        ...

    def close_tail(self, tail: int) -> None:
        """Ends a reader. A no-op if there is none."""
        ...

    @property
    def as_of(self) -> int | None:
        """Returns up to when everything is known of a shard that is followed, as a store's `as_of`. Never blocks."""
        ...

    def stats(self) -> bytes:
        """Returns counts and sizes as a JSON object."""
        ...

    def flush(self) -> None:
        """Seals the head."""
        ...

    def compact(self, *, purge: bool) -> None:
        """Seals the head and merges all segments; a purge also removes everything deleted from disk."""
        ...

    def close(self) -> None:
        """Releases the shard to the next one that opens it."""
        ...
