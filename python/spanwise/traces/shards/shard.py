"""What a shard does. Calls take and return plain values, so that they can be made in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.traces.port import Download

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


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
Part = tuple[int, int, bytes]
"""What is to be stored: the number of the layout by which the request was divided, when it was received (microseconds
since 1970), and the part of the request, as `SplitRequest.parts` has it."""
Outcome = tuple[int, int, str]
"""What a shard says of its part of a request: how many spans and log records were accepted, how many rejected, and why
the first of these was."""


class ShardFullError(UnavailableError):
    """So much waits to be stored on a shard that it takes no more: it is for the sender to wait."""


class ShardLostError(UnavailableError):
    """A shard does not answer: its process has ended, hangs, or has not opened its store yet."""


class Waiting(NamedTuple):
    """What is known of those who wait until a part is stored.

    Attributes:
        deadline: until when they do, in the seconds of `monotonic`.
        more: whether other requests are being divided now, so that it is worth waiting for what they bring.
    """

    deadline: float
    more: Callable[[], bool]


class Call(Protocol[Result_co]):
    """A call of a shard that has begun, as a `Future`."""

    def result(self, timeout: float | None = None, /) -> Result_co:
        """Returns what the call returned; it may be asked for again.

        Args:
            timeout: for how many seconds it is waited for; None as long as it takes.

        Raises:
            TimeoutError: the call has not ended yet.
            SpanwiseError: what the call raised.
        """
        ...


class Run(Protocol):
    """Calls a function in a thread."""

    def __call__(self, work: Callable[..., Result], /, *args: object) -> Call[Result]:
        """Returns the call."""
        ...


class Shard(Protocol):
    """One shard. Its methods may be called from several threads at once, and raise `SpanwiseError`.

    All of them block, but for those that return a `Call`. For these a shard of this process uses a thread of the
    caller, by `run`; one of another process needs none. A shard that is not of the layout that it is asked for raises
    `StaleLayoutError`.
    """

    def begin_answer(self, ask: Ask, question: bytes, *, is_first: bool, run: Run) -> Call[bytes]:
        """Begins to answer a question of a `Gathering`. All questions of a search are answered from one state.

        Args:
            ask: the search.
            question: the question.
            is_first: whether it is the first one of the search, which takes the present state.
            run: calls a function in a thread.

        Raises:
            PinLostError: it is not the first one, and the state of the search is not kept.
            CancelledError: the search has ended.
        """
        ...

    def end(self, searches: Sequence[int]) -> None:
        """Cancels what is being answered of searches, and forgets their state. A no-op for those that are not known."""
        ...

    def begin_ingest(self, part: Part, waiting: Waiting, run: Run) -> Call[Outcome]:
        """Begins to store a part of a request. The call ends once it is durable.

        Args:
            part: the part.
            waiting: how long it is waited for, and whether others come.
            run: calls a function in a thread.

        Raises:
            ShardFullError: too much waits to be stored already.
        """
        ...

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        """Returns how many traces were deleted, or would be. They are deleted together, and durably."""
        ...

    def export(self, ask: Ask, form: str) -> Download:
        """Returns the matching traces as the bytes of a file of a format, in chunks, all of one state."""
        ...

    def open_tail(self, ask: Ask) -> None:
        """Begins to follow the traces that a search matches, under its number, until `close_tails`."""
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

    def close_tails(self, tails: Sequence[int]) -> None:
        """Ends readers. A no-op for those that are not there."""
        ...

    @property
    def as_of(self) -> int | None:
        """Returns up to when everything is known of a shard that is followed, as a store's `as_of`. Never blocks."""
        ...

    def probe(self) -> None:
        """Returns soon if the shard answers.

        Raises:
            ShardLostError: it does not.
        """
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
