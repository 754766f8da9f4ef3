"""Literals for generated questions: values that exist, and for each operator from those that match nothing to all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_SAMPLE = 20_000
_PIECES = (1, 2, 3, 4, 6, 9, 64)
"""Lengths of texts to search for, from what stands nearly everywhere to whole values."""
_LISTS = (1, 3, 50, 1_000)
_ABSENT_SHARE = 0.1
_ABSENT = {"session_id": "sess-zzzz", "status": "ERROR"}
"""Texts that no value contains, where `zzzz` would not be like others; a status is always one of two."""
_EXTREME, _SHARES = 0.001, (0.01, 0.1, 0.5, 0.9, 0.99)


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

    def value(self, key: str, rng: np.random.Generator) -> str | int:
        """Returns a value of a field: frequent ones often, and one that no trace has sometimes."""
        if isinstance(self._values[key][0], str) and key != "start_time" and rng.random() < _ABSENT_SHARE:
            return _ABSENT.get(key, "zzzz")
        found: str | int = self._values[key][int(rng.integers(len(self._values[key])))]
        return found

    def at_share(self, key: str, rng: np.random.Generator) -> str | int:
        """Returns a value below which is a drawn share of all values, from one in a thousand to nearly all."""
        share = float(rng.choice((_EXTREME, *_SHARES, 1 - _EXTREME)))
        ordered = self._ordered[key]
        near = share + 0.002 * (rng.random() - 0.5)
        found: str | int = ordered[min(len(ordered) - 1, max(0, int(near * len(ordered))))]
        return found

    def listed(self, key: str, rng: np.random.Generator) -> list[str | int]:
        """Returns values for `IN`, in order and without repetitions."""
        count = int(rng.choice(_LISTS))
        return sorted({self.value(key, rng) for _ in range(count)})

    def piece(self, key: str, rng: np.random.Generator, *, is_beginning: bool) -> str:
        """Returns a piece or the beginning of a value.

        It has ASCII letters only, since not all peers fold the case of others; that of a name is in any case.
        """
        while True:
            text = str(self.value(key, rng))
            length = int(rng.choice(_PIECES))
            begin = 0 if is_beginning else int(rng.integers(max(1, len(text) - length + 1)))
            found = text[begin : begin + length]
            if found.isascii():
                return found.swapcase() if not is_beginning and rng.random() < 1 / 2 else found
