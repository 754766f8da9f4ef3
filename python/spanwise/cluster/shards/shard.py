"""The protocol of a shard. Calls take and return plain values, so that another process can serve them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.store_protocol import Download

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Ask(Struct, frozen=True):
    """The description of a search, for every shard.

    Attributes:
        layout: the number of the layout that determines the shard's traces.
        search: the number of the search, unique among the searches of the caller.
        query: the query with the owner that it is restricted to, as `QueryRoot.query` returns it.
        seconds: how long the shard keeps the state of its first response.
    """

    layout: int
    search: int
    query: bytes
    seconds: float


Event = tuple[int, str, bytes]
"""An event of a tail: its number, its name and its JSON."""
Part = tuple[int, int, bytes]
"""A part of a request to store: the number of the layout that split it, its time of receipt (microseconds since 1970),
and its bytes as in `SplitRequest.parts`."""
Outcome = tuple[int, int, str]
"""The outcome of a part: the number of accepted spans and log records, the number rejected, and the reason of the first
rejection."""


class ShardFullError(UnavailableError):
    """Too many bytes wait to be stored on a shard. The sender must wait."""


class ShardLostError(UnavailableError):
    """A shard does not respond: its process has ended, hangs, or has not opened its store yet."""


class Waiting(NamedTuple):
    """How long callers wait until a part is stored.

    Attributes:
        deadline: the end of their wait, in the seconds of `monotonic`.
        more: returns True while other requests are being split, so that waiting for their parts is worthwhile.
    """

    deadline: float
    more: Callable[[], bool]


class Call(Protocol[Result_co]):
    """A started call of a shard, like a `Future`."""

    def result(self, timeout: float | None = None, /) -> Result_co:
        """Returns the result of the call; it may be requested again.

        Args:
            timeout: the seconds to wait; None without a limit.

        Raises:
            TimeoutError: the call has not ended yet.
            SpanwiseError: the error of the call.
        """
        ...


class Run(Protocol):
    """Calls a function in a thread."""

    def __call__(self, work: Callable[..., Result], /, *args: object) -> Call[Result]:
        """Returns the call."""
        ...


class Shard(Protocol):
    """One shard. Its methods may be called from several threads at the same time, and raise `SpanwiseError`.

    All methods block, except those that return a `Call`. For those, a shard of this process uses a thread of the
    caller, by `run`; a shard of another process needs no thread. A request for another layout than the shard's raises
    `StaleLayoutError`.
    """

    def begin_answer(self, ask: Ask, question: bytes, *, is_first: bool, run: Run) -> Call[bytes]:
        """Starts the response to a request of a `QueryRoot`. All requests of a search see one state.

        Args:
            ask: the search.
            question: the request.
            is_first: True for the first request of the search, which pins the current state.
            run: calls a function in a thread.

        Raises:
            PinLostError: it is not the first request, and the state of the search was not kept.
            CancelledError: the search has ended.
        """
        ...

    def end(self, searches: Sequence[int]) -> None:
        """Cancels running requests of searches, and forgets their state. A no-op for unknown searches."""
        ...

    def begin_ingest(self, part: Part, waiting: Waiting, run: Run) -> Call[Outcome]:
        """Starts to store a part of a request. The call ends once it is durable.

        Args:
            part: the part.
            waiting: the deadline, and whether other parts are coming.
            run: calls a function in a thread.

        Raises:
            ShardFullError: too many bytes wait to be stored already.
        """
        ...

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        """Returns the number of traces that were deleted, or would be. The deletion is atomic and durable."""
        ...

    def export(self, ask: Ask, form: str) -> Download:
        """Returns the matching traces of one state as the bytes of a file of a format, in chunks."""
        ...

    def open_tail(self, ask: Ask) -> None:
        """Starts to follow the traces that a search matches, under its number, until `close_tails`."""
        ...

    def poll_tails(self, wanted: list[tuple[int, int, int | None]]) -> tuple[list[list[Event]], bool, list[str]]:
        """Updates readers, and takes the next events of each.

        Args:
            wanted: for each reader its number, the maximum number of events, and the event to rewind to, or None.

        Returns:
            The events of each reader, True if more work is due later, and the damage found in traces that were read.

        Raises:
            PinLostError: the reader does not exist, or cannot rewind that far.
        """
        ...

    def close_tails(self, tails: Sequence[int]) -> None:
        """Ends readers. A no-op for unknown readers."""
        ...

    @property
    def as_of(self) -> int | None:
        """Returns the time through which a followed shard is complete, as a store's `as_of`. Never blocks."""
        ...

    def probe(self) -> None:
        """Returns soon if the shard responds.

        Raises:
            ShardLostError: the shard does not respond.
        """
        ...

    def stats(self) -> bytes:
        """Returns counts and sizes as a JSON object."""
        ...

    def flush(self) -> None:
        """Flushes the head to a segment."""
        ...

    def compact(self, *, purge: bool) -> None:
        """Flushes the head and merges all segments; a purge also erases deleted data from the disk."""
        ...

    def close(self) -> None:
        """Releases the shard to its next opener."""
        ...
