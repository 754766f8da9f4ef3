"""Prebuilt span attributes with random texts, of about the sizes that models read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from spanwise.bench.data.otlp_encoding import attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    ByteStrings = NDArray[np.object_]

_WORDS = (
    "the a of to in for and with on at from by as is was are be not this that it we you they order invoice customer "
    "ticket forecast release price flight refund amount total average region supplier report summary balance payment "
    "account policy deadline review change request result value table row column service error response status update "
    "shows found needs asks returns checks compares confirms explains suggests lists contains exceeds matches remains"
)
_SENTENCES = 4_096
_TEXTS = 8_192
"""The number of texts of each kind. Each span takes one at random, so texts recur across traces."""
_QUESTION, _HISTORY, _ANSWER, _ARGUMENTS, _RESULT, _SHORT = (2, 9), (6, 15), (2, 7), (1, 2), (3, 8), (1, 1)


class Texts:
    """Encoded attributes, as arrays of byte strings to choose from at random."""

    def __init__(self, seed: int) -> None:
        """Builds all attributes, deterministically for a seed."""
        self._rng = np.random.default_rng([seed, 0x7E875])
        words = [" ".join(chosen).capitalize() for chosen in self._chosen(_WORDS.split(), (6, 15), _SENTENCES)]
        numbers = self._rng.integers(1, 100_000, _SENTENCES).tolist()
        self._sentences = [f"{text} {number}." for text, number in zip(words, numbers, strict=True)]
        self.questions = self._plain("input.value", _QUESTION)
        self.outcomes = self._plain("output.value", _ANSWER)
        self.histories = self._messages("input.value", _HISTORY)
        self.answers = self._messages("output.value", _ANSWER)
        self.arguments = self._plain("input.value", _ARGUMENTS)
        self.results = self._plain("output.value", _RESULT)
        self.short_questions = self._plain("input.value", _SHORT)
        self.short_outcomes = self._plain("output.value", _SHORT)
        self.prompts = byte_strings([attribute("llm.token_count.prompt", tokens) for tokens in range(100, 4_100)])
        self.completions = byte_strings(
            [attribute("llm.token_count.completion", tokens) for tokens in range(10, 1_010)]
        )

    def _chosen(self, parts: list[str], bounds: tuple[int, int], count: int) -> Iterator[list[str]]:
        """Yields `count` random lists of parts, with lengths within `bounds`."""
        lengths = self._rng.integers(*bounds, count, endpoint=True)
        places = self._rng.integers(0, len(parts), lengths.sum()).tolist()
        end = 0
        for length in lengths.tolist():
            begin, end = end, end + length
            yield [parts[place] for place in places[begin:end]]

    def _texts(self, bounds: tuple[int, int]) -> Iterator[str]:
        return map(" ".join, self._chosen(self._sentences, bounds, _TEXTS))

    def _plain(self, key: str, bounds: tuple[int, int]) -> ByteStrings:
        return byte_strings([attribute(key, text) for text in self._texts(bounds)])

    def _messages(self, key: str, bounds: tuple[int, int]) -> ByteStrings:
        messages = ([{"role": "user", "content": text}] for text in self._texts(bounds))
        return byte_strings([attribute(key, msgspec.json.encode(message).decode()) for message in messages])


def byte_strings(made: list[bytes]) -> ByteStrings:
    """Returns byte strings as a NumPy array of objects, which supports fancy indexing."""
    array = np.empty(len(made), np.object_)
    array[:] = made
    return array
