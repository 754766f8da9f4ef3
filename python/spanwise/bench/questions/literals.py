"""Literals for generated questions: values that exist, and for each operator from those that match nothing to all.

What decides how much a literal matches is drawn once for a question: whether it exists and how frequent it is, the
share of the values below it, the length of a list or of a piece. Each repetition then has other literals that match
about as much, if there are any, so that the fastest engine of one repetition is among the fastest of the others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    Value = str | int
    Draw = Callable[[np.random.Generator], Value]
    """Returns another literal that matches about as much."""

_SAMPLE = 20_000
_PIECES = (1, 2, 3, 4, 6, 9, 64)
"""Lengths of texts to search for, from what stands nearly everywhere to whole values."""
_LISTS = (1, 3, 50, 1_000)
_ABSENT_SHARE = 0.1
_ABSENT = {"session_id": "sess-zzzz", "status": "ERROR"}
"""Texts that no value contains, where `zzzz` would not be like others; a status is always one of two."""
_EXTREME, _SHARES = 0.001, (0.01, 0.1, 0.5, 0.9, 0.99)


_AS_FREQUENT = 2
"""Values that are at most so many times as frequent match about as much."""


class LiteralDraw:
    """Draws literals from a sample of the rows."""

    def __init__(self, rows: pa.Table, seed: int) -> None:
        """Takes the sample, the same one for the same rows and seed."""
        rng = np.random.default_rng([seed, 0x5A3B])
        chosen = rng.choice(rows.num_rows, min(_SAMPLE, rows.num_rows), replace=False)
        sample = rows.take(np.sort(chosen))
        self._values = {key: sample[key].drop_null().to_pylist() for key in rows.column_names}
        self._values["start_time"] = [moment.isoformat() for moment in self._values["start_time"]]
        self._ordered = {key: sorted(values) for key, values in self._values.items()}
        self._counts = {key: Counter(values) for key, values in self._values.items()}
        self._by_count = {
            key: sorted((count, value) for value, count in counts.items()) for key, counts in self._counts.items()
        }

    def value(self, key: str, rng: np.random.Generator) -> Draw:
        """Draws values of a field: frequent ones often, and one that no trace has sometimes."""
        if isinstance(self._values[key][0], str) and key != "start_time" and rng.random() < _ABSENT_SHARE:
            return lambda _: _ABSENT.get(key, "zzzz")
        return self._alike(key, self._some(key, rng))

    def at_share(self, key: str, rng: np.random.Generator) -> Draw:
        """Draws values below which is a share of all values, from one in a thousand to nearly all."""
        share = float(rng.choice((_EXTREME, *_SHARES, 1 - _EXTREME)))
        ordered = self._ordered[key]

        def draw(own: np.random.Generator) -> Value:
            near = share + 0.002 * (own.random() - 0.5)
            found: Value = ordered[min(len(ordered) - 1, max(0, int(near * len(ordered))))]
            return found

        return draw

    def listed(self, key: str, rng: np.random.Generator) -> Callable[[np.random.Generator], list[Value]]:
        """Draws values for `IN`, in order and without repetitions."""
        draws = [self.value(key, rng) for _ in range(int(rng.choice(_LISTS)))]
        return lambda own: sorted({draw(own) for draw in draws})

    def piece(self, key: str, rng: np.random.Generator, *, is_beginning: bool) -> Callable[[np.random.Generator], str]:
        """Draws pieces or the beginnings of values.

        They have ASCII letters only, since not all peers fold the case of others; those of a name are in any case.
        """
        length = int(rng.choice(_PIECES))
        is_swapped = not is_beginning and rng.random() < 1 / 2
        is_absent = rng.random() < _ABSENT_SHARE
        some = str(self._some(key, rng))
        while not some.isascii():
            some = str(self._some(key, rng))
        alike = self._alike(key, some)

        def draw(own: np.random.Generator) -> str:
            while True:
                text = _ABSENT.get(key, "zzzz") if is_absent else str(alike(own))
                begin = 0 if is_beginning else int(own.integers(max(1, len(text) - length + 1)))
                found = text[begin : begin + length]
                if found.isascii():
                    return found.swapcase() if is_swapped else found

        return draw

    def _some(self, key: str, rng: np.random.Generator) -> Value:
        found: Value = self._values[key][int(rng.integers(len(self._values[key])))]
        return found

    def _alike(self, key: str, value: Value) -> Draw:
        """Draws values that are about as frequent as one of them."""
        count, by_count = self._counts[key][value], self._by_count[key]
        begin = bisect_left(by_count, count / _AS_FREQUENT, key=itemgetter(0))
        end = bisect_right(by_count, count * _AS_FREQUENT, key=itemgetter(0))
        return lambda own: by_count[int(own.integers(begin, end))][1]
