"""A store filled with the demo's traces, once: what was begun is finished by the next start, never doubled.

`demo.json` in the data folder says which traces they are and whether all of them are there. A filling that was
interrupted begins anew with the same arguments, so it sends the same spans, and sending twice changes nothing.
"""

from __future__ import annotations

import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from spanwise.demo.captures import captures
from spanwise.demo.exports import CONTENT_TYPE, exports
from spanwise.errors import ConfigurationError, StoreStoppedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from spanwise.traces import TraceStore

TRACES = 20_000
SEED = 7

_SENDERS = 4
"""Requests on their way at once: those of one moment become durable together."""
_ATTEMPTS = 10
_SECONDS_BETWEEN = 0.2


class Filling(msgspec.Struct, frozen=True):
    """What a store is filled with: so many made-up traces of a seed, of the 30 days before `now`."""

    traces: int
    seed: int
    now: datetime
    complete: bool = False


def begin(record: Path, traces: int | None, seed: int | None) -> Filling:
    """Returns the filling that `record` tells of, or a new one, written there.

    Args:
        record: the file that holds it.
        traces: how many traces are wanted; `None` leaves it to the record.
        seed: of which seed; `None` leaves it to the record.

    Raises:
        ConfigurationError: the record tells of other traces, or cannot be read.
    """
    if not record.exists():
        filling = Filling(TRACES if traces is None else traces, SEED if seed is None else seed, datetime.now(UTC))
        _write(record, filling)
        return filling
    try:
        filling = msgspec.json.decode(record.read_bytes(), type=Filling)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"`{record}` is no record of a demo: {error}") from error
    if (traces or filling.traces, filling.seed if seed is None else seed) != (filling.traces, filling.seed):
        raise ConfigurationError(
            f"`{record}` tells of {filling.traces} traces of seed {filling.seed}; others need another data folder"
        )
    return filling


def finish(record: Path, filling: Filling) -> None:
    """Writes down that all of `filling` is in the store."""
    _write(record, msgspec.structs.replace(filling, complete=True))


def fill(store: TraceStore, filling: Filling, advance: Callable[[int], None]) -> int:
    """Sends all traces of `filling`, then the captured ones; on return all of them are durable.

    Args:
        store: the store to fill.
        filling: what with.
        advance: told how many of the made-up traces each request completes.

    Returns:
        How many spans the store did not accept.
    """
    rejected = 0
    sending: deque[Future[int]] = deque()
    with ThreadPoolExecutor(_SENDERS) as senders:
        for body, content_type, content_encoding, completed in _requests(filling):
            sending.append(senders.submit(_send, store, body, content_type, content_encoding))
            if len(sending) > _SENDERS:
                rejected += sending.popleft().result()
            advance(completed)
        rejected += sum(sent.result() for sent in sending)
    store.flush()
    return rejected


def _requests(filling: Filling) -> Iterator[tuple[bytes, str, str | None, int]]:
    """Yields body, content type, content encoding, and how many made-up traces the request completes."""
    for export in exports(filling.traces, filling.seed, filling.now):
        yield export.body, CONTENT_TYPE, None, export.traces
    for capture in captures():
        yield capture.body, capture.content_type, capture.content_encoding, 0


def _send(store: TraceStore, body: bytes, content_type: str, content_encoding: str | None) -> int:
    """Sends one request, again if the store is busy, and returns how many of its spans were not accepted."""
    attempts = 0
    while True:
        try:
            return store.ingest(body, content_type, content_encoding).rejected_spans
        except StoreStoppedError:
            raise
        except UnavailableError:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise
            time.sleep(_SECONDS_BETWEEN)


def _write(record: Path, filling: Filling) -> None:
    """Replaces `record` in one step: whoever reads it sees the old or the new one, whole."""
    record.parent.mkdir(parents=True, exist_ok=True)
    staged = record.with_suffix(".new")
    with staged.open("wb") as file:
        file.write(msgspec.json.encode(filling))
        file.flush()
        os.fsync(file.fileno())
    staged.replace(record)
