"""Random trace rows, drawn in chunks. Each chunk covers a slice of the time range and can be drawn independently."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spanwise.bench.data.shape import (
    AGENT_IDS,
    AGENTS,
    DAYS,
    ERROR_SHARE,
    LATEST,
    METHOD_WEIGHTS,
    METHODS,
    MICROSECONDS_A_DAY,
    NAMES,
    TRACES_A_SESSION,
    user_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from spanwise.bench.data.shape import Shape

    IntArray = NDArray[np.int64]
    ByteArray = NDArray[np.uint8]
    BoolArray = NDArray[np.bool_]

CHUNK = 10_000
"""The number of traces in a chunk."""

AGENT, TEAM, WORKFLOW = 0, 1, 2
_KIND_WEIGHTS = (0.92, 0.05, 0.03)
_NO_SESSION_SHARE = 0.03
_NO_USER_SHARE = 0.04
_NO_RUN_SHARE = 0.02
_SESSION_SPREAD = 0.9
_SECONDS_BETWEEN = 200
_MEDIAN_MICROSECONDS = 2_500_000
_DURATION_SPREAD = 1.1
_MEDIAN_SPANS = 6
_SPAN_SPREAD = 0.75
_LARGE_SHARE = 0.0001
_LARGE_SPANS = (200, 500)

_HEX = np.array([f"{number:02x}".encode() for number in range(256)], "S2").view(np.uint8).reshape(256, 2)
_LATEST_MICROSECONDS = int(LATEST.timestamp()) * 1_000_000

SCHEMA = pa.schema(
    [(key, pa.string()) for key in ("trace_id", "run_id", "session_id", "user_id", "agent_id", "name", "status")]
    + [("duration_ms", pa.int64()), ("start_time", pa.timestamp("us"))]
)
"""The columns that the peers hold: all fields that the queries use. Times are UTC."""


class Rows(NamedTuple):
    """The columns of n traces, oldest first.

    Attributes:
        trace_ids: (n, 16) bytes.
        run_ids: (n, 16) bytes, formatted as UUIDs.
        sessions: (n, 6) bytes, formatted as `sess-` and hexadecimal digits.
        has_run: whether the trace has a run id.
        has_session: whether the trace has a session id.
        users: the number of the user; -1 for none.
        kinds: `AGENT`, `TEAM` or `WORKFLOW`; only agents have an agent id.
        agents: the index in `AGENTS`.
        names: the index in `NAMES`.
        failed: whether the status is `ERROR`.
        starts: Unix time in microseconds.
        durations: microseconds.
        spans: the number of spans.
    """

    trace_ids: ByteArray
    run_ids: ByteArray
    sessions: ByteArray
    has_run: BoolArray
    has_session: BoolArray
    users: IntArray
    kinds: IntArray
    agents: IntArray
    names: IntArray
    failed: BoolArray
    starts: IntArray
    durations: IntArray
    spans: IntArray


def chunks(shape: Shape) -> int:
    """Returns the number of chunks of a data set."""
    return -(-shape.traces // CHUNK)


def draw(shape: Shape, chunk: int) -> Rows:
    """Draws the traces of one chunk, deterministically."""
    rng = np.random.default_rng([shape.seed, chunk])
    first = chunk * CHUNK
    count = min(CHUNK, shape.traces - first)
    sizes = _session_sizes(rng, count)
    session = np.repeat(np.arange(len(sizes)), sizes)
    starts = _starts(rng, sizes, (first / shape.traces, (first + count) / shape.traces))
    order = np.argsort(starts, kind="stable")
    session = session[order]
    zipf = 1.0 / np.arange(1, len(AGENTS) + 1)
    # A session mostly uses one agent, and sometimes another.
    usual = rng.choice(len(AGENTS), len(sizes), p=zipf / zipf.sum())
    turns = rng.random(count) < 0.15  # noqa: PLR2004  # a share like those above, used once
    agents = np.where(turns, rng.choice(len(AGENTS), count, p=zipf / zipf.sum()), usual[session])
    methods = rng.choice(len(METHODS), count, p=METHOD_WEIGHTS)
    users = _users(rng, shape.users, len(sizes))
    return Rows(
        trace_ids=rng.integers(0, 256, (count, 16), np.uint8),
        run_ids=rng.integers(0, 256, (count, 16), np.uint8),
        sessions=rng.integers(0, 256, (len(sizes), 6), np.uint8)[session],
        has_run=rng.random(count) >= _NO_RUN_SHARE,
        has_session=rng.random(count) >= _NO_SESSION_SHARE,
        users=users[session],
        kinds=rng.choice(3, count, p=_KIND_WEIGHTS),
        agents=agents,
        names=agents * len(METHODS) + methods,
        failed=rng.random(count) < ERROR_SHARE,
        starts=starts[order],
        durations=(_MEDIAN_MICROSECONDS * rng.lognormal(0.0, _DURATION_SPREAD, count)).astype(np.int64),
        spans=_spans(rng, count) if shape.documents == "real" else np.ones(count, np.int64),
    )


def _session_sizes(rng: np.random.Generator, count: int) -> IntArray:
    """Returns the number of traces of each session: at least one each, `count` in total."""
    sessions = max(1, count // TRACES_A_SESSION)
    weights = rng.lognormal(0.0, _SESSION_SPREAD, sessions)
    more: IntArray = rng.multinomial(count - sessions, weights / weights.sum())
    return more + 1


def _starts(rng: np.random.Generator, sizes: IntArray, part: tuple[float, float]) -> IntArray:
    """Returns the start times, session by session; sessions start within `part` of the time range."""
    span = DAYS * MICROSECONDS_A_DAY
    begins = _LATEST_MICROSECONDS - span + (span * rng.uniform(*part, len(sizes))).astype(np.int64)
    gaps = (1e6 * rng.exponential(_SECONDS_BETWEEN, sizes.sum())).astype(np.int64)
    passed = np.cumsum(gaps)
    before = np.concatenate([[0], passed])[np.cumsum(sizes) - sizes]
    starts: IntArray = np.repeat(begins - before, sizes) + passed
    return starts


def _users(rng: np.random.Generator, users: int, sessions: int) -> IntArray:
    popularity = np.cumsum(1.0 / (np.arange(users) + 10))
    chosen = np.searchsorted(popularity, rng.random(sessions) * popularity[-1])
    return np.where(rng.random(sessions) < _NO_USER_SHARE, -1, chosen)


def _spans(rng: np.random.Generator, count: int) -> IntArray:
    usual = np.rint(_MEDIAN_SPANS * rng.lognormal(0.0, _SPAN_SPREAD, count)).astype(np.int64)
    large = rng.integers(*_LARGE_SPANS, count, endpoint=True)
    return np.clip(np.where(rng.random(count) < _LARGE_SHARE, large, usual), 1, _LARGE_SPANS[1])


def hexadecimal(raw: ByteArray) -> ByteArray:
    """Returns the hexadecimal digits of (n, w) bytes, as (n, 2 w) bytes."""
    return _HEX[raw].reshape(len(raw), -1)


def run_texts(rows: Rows) -> ByteArray:
    """Returns the run ids as text, (n, 36) bytes."""
    return uuids(hexadecimal(rows.run_ids))


def uuids(digits: ByteArray) -> ByteArray:
    """Returns (n, 32) hexadecimal digits as (n, 36) bytes in the form of UUIDs."""
    dash = np.full((len(digits), 1), ord("-"), np.uint8)
    parts = [digits[:, :8], digits[:, 8:12], digits[:, 12:16], digits[:, 16:20], digits[:, 20:]]
    return np.hstack([column for part in parts for column in (part, dash)][:-1])


def session_texts(rows: Rows) -> ByteArray:
    """Returns the session ids as text, (n, 17) bytes."""
    word = np.tile(np.frombuffer(b"sess-", np.uint8), (len(rows.sessions), 1))
    return np.hstack([word, hexadecimal(rows.sessions)])


def to_table(rows: Rows) -> pa.Table:
    """Returns the rows as a table of `SCHEMA`."""
    present, places = np.unique(rows.users, return_inverse=True)
    users = pa.array([user_id(number) if number >= 0 else None for number in present.tolist()], pa.string())
    columns = [
        _texts(hexadecimal(rows.trace_ids)),
        _texts(run_texts(rows), rows.has_run),
        _texts(session_texts(rows), rows.has_session),
        users.take(pa.array(places)),
        pa.array(AGENT_IDS).take(pa.array(rows.agents, mask=rows.kinds != AGENT)),
        pa.array(NAMES).take(pa.array(rows.names)),
        pa.array(["OK", "ERROR"]).take(pa.array(rows.failed.astype(np.int64))),
        # Truncated to milliseconds, as in the store.
        pa.array(rows.durations // 1_000),
        pa.array(rows.starts).cast(pa.timestamp("us")),
    ]
    return pa.table(columns, schema=SCHEMA)


def newest_first(tables: Iterable[pa.Table]) -> pa.Table:
    """Returns all rows as one table, ordered by start time, newest first, then by trace id; one chunk per column."""
    table = pa.concat_tables(tables)
    return table.sort_by([("start_time", "descending"), ("trace_id", "ascending")]).combine_chunks()


def _texts(digits: ByteArray, present: BoolArray | None = None) -> pa.Array:
    """Returns (n, w) bytes of text as strings; null where not `present`."""
    count, width = digits.shape
    offsets = pa.py_buffer((np.arange(count + 1) * width).astype(np.int32))
    validity = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), count, [validity, offsets, pa.py_buffer(np.ascontiguousarray(digits))])
