"""Random literals for queries, drawn from the rows, so that they exist in the data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from spanwise.bench.data.shape import AGENT_IDS, DAYS, LATEST, first_names, topics

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_PART = 4
"""The length of the substrings that are searched for in ids."""


class Literals:
    """Draws literals by name."""

    def __init__(self, rows: pa.Table, seed: int) -> None:
        """Draws from `rows`, a table of `rows.SCHEMA`, deterministically for a seed."""
        self._rows = rows
        self._seed = seed
        self._rng = np.random.default_rng([seed, 0x117E])
        durations = rows["duration_ms"].to_numpy()
        self._slow = {share: float(np.quantile(durations, share)) for share in (0.9, 0.99)}
        self._draw: dict[str, Callable[[], object]] = {
            "trace_id": lambda: self._value("trace_id"),
            "run_id": lambda: self._value("run_id"),
            "session_id": lambda: self._value("session_id"),
            "agent_id": lambda: self._value("agent_id"),
            "five_agents": lambda: sorted(self._rng.choice(AGENT_IDS, 5, replace=False).tolist()),
            "slowest_tenth": lambda: self._above(0.9),
            "slowest_hundredth": lambda: self._above(0.99),
            "hour": lambda: self._span(timedelta(hours=1)),
            "week": lambda: self._span(timedelta(days=7)),
            "name_part": self._name_part,
            "user_part": lambda: self._part(self._value("user_id").partition("@")[0]),
            "session_part": lambda: self._part(self._value("session_id").removeprefix("sess-")),
            "run_beginning": lambda: self._value("run_id")[:_PART],
            "user_beginning": lambda: str(self._rng.choice(first_names())),
        }

    def begin(self, series: str) -> None:
        """Begins a series: the same literals follow wherever a series of that name begins."""
        self._rng = np.random.default_rng([self._seed, *series.encode()])

    def draw(self, name: str) -> object:
        """Returns a new literal: a string, a number, a list of strings, or a pair of instants.

        Raises:
            KeyError: there is no such literal.
        """
        return self._draw[name]()

    def _value(self, field: str) -> str:
        """Returns a random non-null value of a column."""
        while True:
            value = self._rows[field][int(self._rng.integers(0, self._rows.num_rows))].as_py()
            if value is not None:
                return str(value)

    def _part(self, text: str) -> str:
        begin = int(self._rng.integers(0, max(1, len(text) - _PART + 1)))
        return text[begin : begin + _PART]

    def _name_part(self) -> str:
        """Returns the start of a name in random case; ASCII, because not all peers fold the case of other letters."""
        words = [topic for topic in topics() if topic.isascii()]
        word = str(self._rng.choice(words))
        sizes = self._rng.random(len(word)) < 0.5  # noqa: PLR2004  # one half
        return "".join(letter.upper() if large else letter.lower() for letter, large in zip(word, sizes, strict=True))

    def _above(self, share: float) -> int:
        """Returns a duration in milliseconds that about `1 - share` of the traces exceed."""
        return int(self._slow[share] * (1 + 0.01 * self._rng.random()))

    def _span(self, length: timedelta) -> dict[str, str]:
        first = LATEST - timedelta(days=DAYS)
        latitude = (LATEST - first - length) / timedelta(microseconds=1)
        begin = first + timedelta(microseconds=int(self._rng.integers(0, int(latitude))))
        return {"begin": _instant(begin), "end": _instant(begin + length)}


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
