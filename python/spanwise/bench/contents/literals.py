"""Ids that stand in the texts of a data set, to be searched for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PATTERNS = {
    "uuid": _UUID,
    "customer": re.compile(r"user-\d{5}"),
    "symbol": re.compile(r'(?<="symbol": ")[a-z]{14}'),
    "id_part": re.compile(r"(?<=-)[0-9a-f]{6}"),
}


class ContentLiterals:
    """Draws literals by name."""

    def __init__(self, texts: pa.Table, seed: int) -> None:
        """Draws from the `texts` of some traces, deterministically for a seed."""
        self._texts = texts["text"]
        self._rng = np.random.default_rng([seed, 0xC0])

    def draw(self, name: str) -> object:
        """Returns an id of a kind: `uuid`, `customer`, `symbol`, or `id_part`, six digits within a UUID.

        Raises:
            KeyError: there is no such kind.
        """
        pattern = _PATTERNS[name]
        while True:
            found = pattern.search(self._texts[int(self._rng.integers(0, len(self._texts)))].as_py())
            if found:
                return found.group()
