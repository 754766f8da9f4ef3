"""A shard in a process that Ray runs."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import ActorDiedError, GetTimeoutError, RayError, RayTaskError

from spanwise.cluster.ray.actor import NotOpenError, Question, write
from spanwise.cluster.ray.batches import Batches
from spanwise.cluster.ray.processes import end_process, find_process, start_process
from spanwise.cluster.shards.shard import ShardLostError
from spanwise.errors import StoreClosedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanwise.cluster.ray.actor import ShardPlan
    from spanwise.cluster.ray.batches import Outcomes
    from spanwise.cluster.ray.processes import Placing
    from spanwise.cluster.shards.shard import Ask, Call, Event, Outcome, Part, Run, Waiting

PROBE_SECONDS = 1.0
CONTROL_SECONDS = 5.0
WRITE_SECONDS = 30.0
MAINTENANCE_SECONDS = 3600.0
"""Timeouts in seconds of probes, of instant calls, of writes, and of work on all traces."""
_log = logging.getLogger(__name__)


class RayShard:
    """A shard that is called through Ray. Implements `Shard`.

    A call is sent once. The caller repeats calls that are safe to repeat, such as a write. If the process of the shard
    ends, Ray restarts it, and calls fail until then.
    """

    def __init__(self, plan: ShardPlan, name: str, release: Callable[[], None], placing: Placing) -> None:
        """Starts the process of the shard, or finds it, and returns once its store is open.

        Args:
            plan: the configuration of the process.
            name: the name of the shard in messages.
            release: called when the shard is closed.
            placing: the placement of the process, and whether it outlives this service.

        Raises:
            SpanwiseError: the store does not open.
        """
        self.name = name
        self._shared_as = placing.shared_as
        self._release = release
        self._lock = threading.Lock()
        self._lost_at: float | None = None
        self._is_closed = False
        self._is_ended = False
        self._actor = start_process(plan, placing)
        self._methods: dict[tuple[str, str], Any] = {}
        try:
            self._call("open", group="control", seconds=None)
            if self._shared_as is not None and self._call("plan", group="control", seconds=CONTROL_SECONDS) != plan:
                _log.warning("%s runs with other settings than these, and keeps them until it is started", name)
        except UnavailableError:
            self._end()
            raise
        except BaseException:  # an interrupted start must not leave a process
            # No other service uses a store that does not open.
            self._shared_as = None
            self._end()
            raise
        self._batches = Batches(self._ingest, f"spanwise-batches-{name}")

    def begin_answer(self, ask: Ask, question: bytes, *, is_first: bool, run: Run) -> Call[bytes]:  # noqa: ARG002
        """See `Shard.begin_answer`."""
        return self._begin("answer", write(Question(ask, question, is_first)), group="search", seconds=ask.seconds)

    def end(self, searches: Sequence[int]) -> None:
        """See `Shard.end`."""
        self._notify("call", "end", searches)

    def begin_ingest(self, part: Part, waiting: Waiting, run: Run) -> Call[Outcome]:  # noqa: ARG002
        """See `Shard.begin_ingest`. Waiting parts are sent together."""
        return self._batches.add(part, waiting)

    def _ingest(self, parts: Sequence[Part], seconds: float) -> Outcomes:
        outcomes: Outcomes = self._call("ingest", write(parts), group="write", seconds=seconds)
        return outcomes

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        """See `Shard.delete`."""
        deleted: int = self._do("delete", ask, dry_run=dry_run, group="write", seconds=MAINTENANCE_SECONDS)
        return deleted

    def export(self, ask: Ask, form: str) -> RayDownload:
        """See `Shard.export`."""
        number: int = self._call("begin_export", ask, form, group="search", seconds=ask.seconds)
        return RayDownload(self, number)

    def read_export(self, number: int) -> tuple[bytes, tuple[int, int, int], bool]:
        """See `ShardActor.read_export`."""
        read: tuple[bytes, tuple[int, int, int], bool] = self._call(
            "read_export", number, group="search", seconds=MAINTENANCE_SECONDS
        )
        return read

    def end_export(self, number: int) -> None:
        """See `ShardActor.end_export`. Never blocks."""
        self._notify("end_export", number)

    def open_tail(self, ask: Ask) -> None:
        """See `Shard.open_tail`."""
        self._do("open_tail", ask, group="search", seconds=CONTROL_SECONDS)

    def poll_tails(self, wanted: list[tuple[int, int, int | None]]) -> tuple[list[list[Event]], bool, list[str]]:
        """See `Shard.poll_tails`."""
        polled: tuple[list[list[Event]], bool, list[str]] = self._do(
            "poll_tails", wanted, group="search", seconds=WRITE_SECONDS
        )
        return polled

    def close_tails(self, tails: Sequence[int]) -> None:
        """See `Shard.close_tails`."""
        self._notify("call", "close_tails", tails)

    @property
    def as_of(self) -> int | None:
        """See `Shard.as_of`. None, because its store is not followed."""
        return None

    def probe(self) -> None:
        """See `Shard.probe`."""
        self._do("probe", group="control", seconds=PROBE_SECONDS)

    def stats(self) -> bytes:
        """See `Shard.stats`."""
        stats: bytes = self._do("stats", group="control", seconds=CONTROL_SECONDS)
        return stats

    def flush(self) -> None:
        """See `Shard.flush`."""
        self._do("flush", group="write", seconds=MAINTENANCE_SECONDS)

    def compact(self, *, purge: bool) -> None:
        """See `Shard.compact`."""
        self._do("compact", purge=purge, group="write", seconds=MAINTENANCE_SECONDS)

    def close(self) -> None:
        """See `Shard.close`. Ends the process, unless it is shared."""
        if self._is_closed:
            return
        self._batches.close()
        try:
            if self._shared_as is None:
                self._do("close", group="control", seconds=WRITE_SECONDS)
        finally:
            self._end()
            self._release()

    def _end(self) -> None:
        with self._lock:
            self._is_closed = True
        if self._shared_as is None:
            end_process(self._actor)

    def _notify(self, method: str, *arguments: object) -> None:
        """Calls a method of the actor without waiting for it.

        A notice may be lost, or be dropped because a hung process has too many pending calls. The shard then forgets
        the state by itself.
        """
        with self._lock, suppress(RayError):
            if not self._is_closed:
                self._method(method, "control").remote(*arguments)

    def _do(self, method: str, *arguments: object, group: str, seconds: float | None, **named: object) -> Any:  # noqa: ANN401
        """Returns the result of a method of the `LocalShard`; see `_call`."""
        return self._call("call", method, *arguments, group=group, seconds=seconds, **named)

    def _call(self, method: str, *arguments: object, group: str, seconds: float | None, **named: object) -> Any:  # noqa: ANN401
        """Returns the result of a method of the actor.

        Raises:
            ShardLostError: the actor does not respond.
            SpanwiseError: the error of the method.
        """
        return self._begin(method, *arguments, group=group, seconds=seconds, **named).result()

    def _begin(self, method: str, *arguments: object, group: str, seconds: float | None, **named: object) -> RayCall:
        """Returns a call of a method of the actor.

        Raises:
            ShardLostError: too many calls are pending.
            StoreClosedError: `close` was called.
        """
        if self._is_closed:
            raise StoreClosedError("the store is closed")
        began = time.monotonic()
        if self._is_ended:
            self._find_again(began)
        try:
            return RayCall(self, self._method(method, group).remote(*arguments, **named), began, seconds)
        except RayError as error:
            raise self.failed(began, error) from None

    def _find_again(self, began: float) -> None:
        """Finds the process that has replaced one that was ended for good.

        Raises:
            ShardLostError: the process has no replacement.
        """
        found = None if self._shared_as is None else find_process(self._shared_as)
        if found is None:
            raise self.failed(began, "it was ended")
        with self._lock:
            self._actor, self._methods, self._is_ended = found, {}, False

    def _method(self, method: str, group: str) -> Any:  # noqa: ANN401  # Ray has no type for it
        """Returns a method of the actor that runs in a group of threads."""
        found = self._methods.get((method, group))
        if found is None:
            found = getattr(self._actor, method).options(concurrency_group=group)
            self._methods[method, group] = found
        return found

    def failed(self, began: float, error: RayError | str) -> ShardLostError:
        """Returns the error for a call without a response. The first failure in a row is logged.

        Args:
            began: the start of the call, in the seconds of `monotonic`.
            error: the reason.
        """
        with self._lock:
            self._is_ended |= isinstance(error, ActorDiedError)
            is_first = self._lost_at is None
            if is_first:
                self._lost_at = began
        if is_first:
            reason = error if isinstance(error, str) else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            _log.warning("%s does not answer: %s", self.name, reason)
        return ShardLostError(f"{self.name} does not answer")

    def succeeded(self) -> None:
        """Logs that the shard responds again after a failure."""
        if self._lost_at is None:
            return
        with self._lock:
            lost_at, self._lost_at = self._lost_at, None
        if lost_at is not None:
            _log.info("%s answers again after %.1f s", self.name, time.monotonic() - lost_at)


class RayCall:
    """A started call of a shard. Implements `Call`."""

    def __init__(self, shard: RayShard, reference: Any, began: float, seconds: float | None) -> None:  # noqa: ANN401
        """Takes Ray's reference to the call, its start, and its timeout in seconds."""
        self._shard = shard
        self._reference = reference
        self._began = began
        self._seconds = seconds

    def result(self, timeout: float | None = None, /) -> Any:  # noqa: ANN401  # the result type of the method
        """See `Call.result`.

        Raises:
            ShardLostError: the shard does not respond, or exceeded the timeout of the call.
        """
        left = None if self._seconds is None else max(0.0, self._began + self._seconds - time.monotonic())
        is_last = timeout is None or (left is not None and left <= timeout)
        try:
            result = ray.get(self._reference, timeout=left if is_last else timeout)
        except RayTaskError as error:
            if isinstance(error.cause, NotOpenError):
                raise self._shard.failed(self._began, str(error.cause)) from None
            self._shard.succeeded()
            raise error.cause from None
        except GetTimeoutError:
            if is_last:
                raise self._shard.failed(self._began, f"no response for {self._seconds:g} s") from None
            raise
        except RayError as error:
            raise self._shard.failed(self._began, error) from None
        self._shard.succeeded()
        return result


class RayDownload:
    """The chunks of an export of a shard, with progress. Implements `Download`."""

    def __init__(self, shard: RayShard, number: int) -> None:
        """Takes a started export. The shard forgets it after the last chunk, or with this object."""
        self._shard = shard
        self._number = number
        self._progress = (0, 0, 0)
        self._is_done = False
        weakref.finalize(self, shard.end_export, number)

    def __iter__(self) -> Iterator[bytes]:
        """Returns the chunks."""
        return self

    def __next__(self) -> bytes:
        """Returns the next chunk.

        Raises:
            SpanwiseError: see `Shard.export`; or the shard does not respond, or has ended since.
        """
        if self._is_done:
            raise StopIteration
        chunk, self._progress, self._is_done = self._shard.read_export(self._number)
        if self._is_done and not chunk:
            raise StopIteration
        return chunk

    @property
    def progress(self) -> tuple[int, int, int]:
        """See `Download.progress`."""
        return self._progress
