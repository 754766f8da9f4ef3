"""Fills a store with the traces of the demo exactly once, resuming after an interruption.

`demo.json` in the data folder records the traces and whether all of them are stored. After an interruption, the same
spans are sent again from the beginning. Sending a span twice has no effect.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from spanwise.demo.captures import captures
from spanwise.demo.otlp_requests import CONTENT_TYPE, export_requests
from spanwise.errors import ConfigurationError, StoreStoppedError, UnavailableError
from spanwise.output_file import write_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from spanwise.store_protocol import Store

TRACES = 20_000
SEED = 7

_SENDERS = 4
"""Concurrent requests. They become durable together."""
_ATTEMPTS = 10
_RETRY_SECONDS = 0.2


class FillPlan(msgspec.Struct, frozen=True):
    """The generated traces for a store, within the 30 days before `now`."""

    traces: int
    seed: int
    now: datetime
    complete: bool = False


def load_or_create_plan(record: Path, traces: int | None, seed: int | None) -> FillPlan:
    """Reads the plan in `record`, or creates and saves a new one.

    Args:
        record: the file of the plan.
        traces: the number of traces; `None` accepts the recorded one.
        seed: the seed; `None` accepts the recorded one.

    Raises:
        ConfigurationError: the record has another number or seed, or cannot be read.
    """
    if not record.exists():
        plan = FillPlan(TRACES if traces is None else traces, SEED if seed is None else seed, datetime.now(UTC))
        _write(record, plan)
        return plan
    try:
        plan = msgspec.json.decode(record.read_bytes(), type=FillPlan)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"`{record}` is not a valid record of the demo: {error}") from error
    if (traces or plan.traces, plan.seed if seed is None else seed) != (plan.traces, plan.seed):
        raise ConfigurationError(
            f"`{record}` records {plan.traces} traces of seed {plan.seed}; use another data folder for others"
        )
    return plan


def mark_complete(record: Path, plan: FillPlan) -> None:
    """Records that all traces of `plan` are in the store."""
    _write(record, msgspec.structs.replace(plan, complete=True))


def fill(store: Store, plan: FillPlan, advance: Callable[[int], None]) -> int:
    """Ingests all traces of `plan`, then the captured ones. On return all of them are durable.

    Args:
        store: the store to fill.
        plan: the traces to generate.
        advance: called with the number of generated traces that each request completes.

    Returns:
        The number of rejected spans.
    """
    rejected = 0
    sending: deque[Future[int]] = deque()
    with ThreadPoolExecutor(_SENDERS) as senders:
        for body, content_type, content_encoding, completed in _requests(plan):
            sending.append(senders.submit(_send, store, body, content_type, content_encoding))
            if len(sending) > _SENDERS:
                rejected += sending.popleft().result()
            advance(completed)
        rejected += sum(sent.result() for sent in sending)
    store.flush()
    return rejected


def _requests(plan: FillPlan) -> Iterator[tuple[bytes, str, str | None, int]]:
    """Yields the body, content type, content encoding and number of completed traces of each request."""
    for export in export_requests(plan.traces, plan.seed, plan.now):
        yield export.body, CONTENT_TYPE, None, export.traces
    for capture in captures():
        yield capture.body, capture.content_type, capture.content_encoding, 0


def _send(store: Store, body: bytes, content_type: str, content_encoding: str | None) -> int:
    """Ingests one request, retrying while the store is busy. Returns the number of rejected spans."""
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
            time.sleep(_RETRY_SECONDS)


def _write(record: Path, plan: FillPlan) -> None:
    """Replaces `record` atomically.

    Raises:
        ConfigurationError: it cannot be written.
    """
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        write_output(record, msgspec.json.encode(plan))
    except OSError as error:
        raise ConfigurationError(
            f"cannot write `{record}`: {error.strerror}; `--data-dir` names a folder that can be written"
        ) from error
