"""A shard in a process that Ray runs."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from spanwise.errors import StoreClosedError, UnavailableError
from spanwise.traces.shards.cluster.actor import NotOpenError, ShardActor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanwise.traces.shards.cluster.actor import ShardPlan
    from spanwise.traces.shards.shard import Ask, Event

_GROUPS = {"search": 8, "write": 32, "control": 4}
"""Calls that a shard works on at once. Writes wait for the disk together; they must not hold up searches, nor these the
end of one."""
_MAX_PENDING_CALLS = 256
"""Calls that a shard has not answered; above this, it is not asked."""
CONTROL_SECONDS = 5.0
WRITE_SECONDS = 30.0
MAINTENANCE_SECONDS = 3600.0
"""How long answers are waited for: of what takes no time, of writes, and of what works on all traces of a shard."""
_log = logging.getLogger(__name__)


class RayShard:
    """A shard that is called through Ray. Implements `Shard`.

    A call is made once: what may be made again, such as a write, the caller repeats. If the process of the shard ends,
    Ray starts it again, and calls fail until then.
    """

    def __init__(self, plan: ShardPlan, name: str, release: Callable[[], None]) -> None:
        """Starts the process of the shard, and returns once its store is open.

        Args:
            plan: what the process needs to know.
            name: its prefix, for messages.
            release: called as the shard is closed.

        Raises:
            SpanwiseError: the store does not open.
        """
        self.name = name
        self._release = release
        self._lock = threading.Lock()
        self._lost_at: float | None = None
        self._is_closed = False
        start = ray.remote(
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=0,
            max_pending_calls=_MAX_PENDING_CALLS,
            concurrency_groups=_GROUPS,
        )(ShardActor)
        self._actor = start.options(scheduling_strategy="SPREAD").remote(plan)
        try:
            self.process_id: int = self._call("open", group="control", seconds=None)
        except BaseException:
            self._end()
            raise

    def answer(self, ask: Ask, question: bytes, *, is_first: bool) -> bytes:
        """See `Shard.answer`."""
        answer: bytes = self._do("answer", ask, question, is_first=is_first, group="search", seconds=ask.seconds)
        return answer

    def end(self, search: int) -> None:
        """See `Shard.end`."""
        self._tell("end", search)

    def ingest(self, layout: int, received: int, part: bytes) -> tuple[int, int, str]:
        """See `Shard.ingest`."""
        outcome: tuple[int, int, str] = self._do("ingest", layout, received, part, group="write", seconds=WRITE_SECONDS)
        return outcome

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
        with self._lock:
            if not self._is_closed:
                self._actor.end_export.options(concurrency_group="control").remote(number)

    def open_tail(self, ask: Ask) -> None:
        """See `Shard.open_tail`."""
        self._do("open_tail", ask, group="search", seconds=CONTROL_SECONDS)

    def poll_tails(self, wanted: list[tuple[int, int, int | None]]) -> tuple[list[list[Event]], bool, list[str]]:
        """See `Shard.poll_tails`."""
        polled: tuple[list[list[Event]], bool, list[str]] = self._do(
            "poll_tails", wanted, group="search", seconds=WRITE_SECONDS
        )
        return polled

    def close_tail(self, tail: int) -> None:
        """See `Shard.close_tail`."""
        self._tell("close_tail", tail)

    @property
    def as_of(self) -> int | None:
        """See `Shard.as_of`: its store is not followed."""
        return None

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
        """See `Shard.close`. Ends the process."""
        if self._is_closed:
            return
        try:
            self._do("close", group="control", seconds=WRITE_SECONDS)
        finally:
            self._end()
            self._release()

    def _end(self) -> None:
        with self._lock:
            self._is_closed = True
        ray.kill(self._actor, no_restart=True)

    def _tell(self, method: str, number: int) -> None:
        """Calls a method of the shard without waiting for it. What is lost, the shard forgets by itself."""
        with self._lock:
            if not self._is_closed:
                self._actor.call.options(concurrency_group="control").remote(method, number)

    def _do(self, method: str, *arguments: object, group: str, seconds: float | None, **named: object) -> Any:  # noqa: ANN401
        """Returns what a method of the `LocalShard` returns; see `_call`."""
        return self._call("call", method, *arguments, group=group, seconds=seconds, **named)

    def _call(self, method: str, *arguments: object, group: str, seconds: float | None, **named: object) -> Any:  # noqa: ANN401
        """Returns what a method of the actor returns.

        Raises:
            UnavailableError: it does not answer.
            SpanwiseError: what the method raises.
        """
        if self._is_closed:
            raise StoreClosedError("the store is closed")
        began = time.monotonic()
        try:
            call = getattr(self._actor, method).options(concurrency_group=group).remote(*arguments, **named)
            result = ray.get(call, timeout=seconds)
        except RayTaskError as error:
            if isinstance(error.cause, NotOpenError):
                self._fail(began, str(error.cause))
            self._succeed()
            raise error.cause from None
        except GetTimeoutError:
            self._fail(began, f"no response for {seconds:g} s")
        except RayError as error:
            self._fail(began, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        self._succeed()
        return result

    def _fail(self, began: float, reason: str) -> NoReturn:
        with self._lock:
            is_first = self._lost_at is None
            if is_first:
                self._lost_at = began
        if is_first:
            _log.warning("shard `%s` does not answer: %s", self.name, reason)
        raise UnavailableError(f"shard `{self.name}` does not answer")

    def _succeed(self) -> None:
        if self._lost_at is None:
            return
        with self._lock:
            lost_at, self._lost_at = self._lost_at, None
        if lost_at is not None:
            _log.info("shard `%s` answers again after %.1f s", self.name, time.monotonic() - lost_at)


class RayDownload:
    """The chunks of an export of a shard, and how far they have come. Implements `Download`."""

    def __init__(self, shard: RayShard, number: int) -> None:
        """Takes an export that has begun; the shard forgets it with the last of them, or with this object."""
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
            SpanwiseError: see `Shard.export`; or the shard does not answer, or has ended since.
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
