"""Stores the parts of a request on their shards, and combines the outcomes of a write on several shards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from spanwise.cluster.shards.shard import ShardFullError
from spanwise.errors import PartialWriteError, SpanwiseError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise._engine import SplitRequest
    from spanwise.cluster.scatter import Scatter
    from spanwise.cluster.shards.shard import Call, Outcome, Waiting

Result = TypeVar("Result")
_RETRY_SECONDS = 0.1


def store_parts(scatter: Scatter, split: SplitRequest, waiting: Waiting) -> list[Outcome]:
    """Stores the parts of a request and returns the outcome of each shard. All parts are durable then.

    A rejected part is sent again until the deadline. It is not sent again to a shard with a full queue, where a retry
    would increase the load.

    Raises:
        PartialWriteError: some parts are stored, and others were not in time.
        SpanwiseError: possibly no part is stored.
    """
    outcomes: dict[int, Outcome | SpanwiseError] = {}
    parts = dict(enumerate(split.parts))
    while True:
        calls = {
            number: _begin(scatter, shard, split.received, part, waiting) for number, (shard, part) in parts.items()
        }
        outcomes |= {number: outcome_of(call, waiting.deadline) for number, call in calls.items()}
        # Storing the same spans twice has no effect.
        parts = {number: part for number, part in parts.items() if _is_worth_another(outcomes[number])}
        if not parts or time.monotonic() + _RETRY_SECONDS > waiting.deadline:
            return all_of(list(outcomes.values()), "the request may be stored in part")
        time.sleep(_RETRY_SECONDS)


def _begin(scatter: Scatter, shard: int, received: int, part: bytes, waiting: Waiting) -> Call[Outcome] | SpanwiseError:
    try:
        return scatter.begin_ingest(shard, received, part, waiting)
    except UnavailableError as error:
        return error


def _is_worth_another(outcome: Outcome | SpanwiseError) -> bool:
    return isinstance(outcome, UnavailableError) and not isinstance(outcome, ShardFullError)


def outcome_of(call: Call[Result] | SpanwiseError, deadline: float | None = None) -> Result | SpanwiseError:
    """Returns the result or the error of a call, once it has ended.

    Args:
        call: the call, or the error that prevented it.
        deadline: the end of the wait, in the seconds of `monotonic`; None without a limit.
    """
    if isinstance(call, SpanwiseError):
        return call
    try:
        return call.result(None if deadline is None else max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        return UnavailableError("a shard did not store its part of the request in time")
    except SpanwiseError as error:
        return error


def all_of(outcomes: Sequence[Result | SpanwiseError], what: str) -> list[Result]:
    """Returns the results of the shards in a write if all succeeded.

    Raises:
        PartialWriteError: some shards have failed with an error that may pass; the message begins with `what`.
        SpanwiseError: all shards have failed, or one with a permanent error.
    """
    errors = [outcome for outcome in outcomes if isinstance(outcome, SpanwiseError)]
    if errors and len(errors) < len(outcomes) and all(isinstance(error, UnavailableError) for error in errors):
        raise PartialWriteError(f"{what}; send it again") from errors[0]
    if errors:
        raise errors[0]
    return [outcome for outcome in outcomes if not isinstance(outcome, SpanwiseError)]
