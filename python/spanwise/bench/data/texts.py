"""What the spans of a data set say: prebuilt texts with holes, for ids that belong to one trace or to one span.

A text is a row of pieces with holes between them. What goes into a hole has a fixed length, so the length of the text
is known when it is built, and a span takes its texts as they are, with its own ids in their holes.
"""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from spanwise.bench.data.otlp_encoding import attribute
from spanwise.bench.data.rows import hexadecimal, uuids
from spanwise.bench.data.words import SYSTEM_PROMPTS, Sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from spanwise.bench.data.rows import ByteArray, IntArray

    ByteStrings = NDArray[np.object_]

TEXTS = 8_192
"""The number of English texts of each kind. Each span takes one at random, so they recur across traces."""
_TEXTS_BY_LANGUAGE = (TEXTS, 512, 256)
"""English, Japanese, Chinese."""
_LANGUAGE_SHARES = (0.915, 0.07, 0.015)
_SENTENCES, _FAILURES = 4_096, 1_024
STEPS = 4
"""The calls of a conversation: each repeats what was said before, and the last one stands for later ones."""
_QUESTION, _ANSWER, _RESULT, _SHORT = (1, 7), (1, 6), (2, 7), (1, 1)
_SYSTEM, _TURN = (1, 2), (1, 2)
_WITH_EMAIL, _WITH_CUSTOMER, _WITH_SYMBOL = 0.2, 0.11, 0.12
_OF_JSON, _OF_FAILED_JSON = 0.4, 0.07

CUSTOMERS = 50_000
_FIRST_DAY, _ORDER_DAYS = date(2026, 9, 20), 61
_VERBS = "get set add has put pop map run use try new log cut fit mix ask buy pay tag zip"
_NOUNS = (
    "Element Account Invoice Payment Message Session Article Archive Balance Booking Channel Chapter Comment Company "
    "Contact Content Country Courier Current Dataset Default Deposit Display Edition Episode Example Expense Express "
    "Feature Filters Finance Forward Gateway Handler History Holiday Journal Kitchen Library License Machine Manager "
    "Mapping Measure Meeting Monitor Network Package Partner Picture Pricing Printer Product Profile Project Receipt"
)
_SUFFIXES = (
    "ById ByIp ByNo ByTag Once Safe Sync Bulk Rows Page Size Name Type Date Time Hash Path Lock Tree List Text Code "
    "Mode Rank Sort Find Open Load Save Send Copy Drop Join Link Mark Pick Read Scan Skip Test Undo View Wrap Zone"
)
_HOLE = re.compile(r"%(uuid|call|email|order|customer|symbol|ticket)%")


class Pool:
    """Texts to choose from, as the values of one attribute.

    Attributes:
        kinds: the kinds of holes that are in them.
        sizes: the length of each, encoded, in bytes.
    """

    def __init__(self, key: str, texts: Sequence[str]) -> None:
        """Builds the texts as values of the attribute `key`; kinds of holes stand between percent signs in them."""
        split = [_HOLE.split(text) for text in texts]
        self.kinds = sorted({kind for parts in split for kind in parts[1::2]})
        holes = max(len(parts) // 2 for parts in split)
        self._framings = byte_strings([_framing(key, parts) for parts in split])
        self.sizes = np.array([len(framing) for framing in self._framings]) + [_size(parts) for parts in split]
        self._pieces = np.full((len(texts), holes + 1), b"", np.object_)
        self._kinds = np.full((len(texts), holes), len(self.kinds))
        for place, parts in enumerate(split):
            self._pieces[place, : len(parts) // 2 + 1] = [part.encode() for part in parts[::2]]
            self._kinds[place, : len(parts) // 2] = [self.kinds.index(kind) for kind in parts[1::2]]

    @property
    def columns(self) -> int:
        """Returns the number of columns of `fill`."""
        return 2 * self._pieces.shape[1]

    def fill(self, chosen: IntArray, contents: dict[str, ByteStrings]) -> ByteStrings:
        """Returns the chosen texts in columns: the framing of the attribute, then pieces and the contents of holes.

        Args:
            chosen: the number of each text.
            contents: what fills the holes of the kinds `kinds`, for each text.
        """
        filled = np.empty((len(chosen), self.columns), np.object_)
        filled[:, 0] = self._framings[chosen]
        filled[:, 1::2] = self._pieces[chosen]
        if self.columns > 2:  # noqa: PLR2004  # the framing and a piece
            kinds = self._kinds[chosen]
            by_kind = np.full((len(self.kinds) + 1, len(chosen)), b"", np.object_)
            for number, kind in enumerate(self.kinds):
                by_kind[number] = contents[kind]
            filled[:, 2::2] = by_kind[kinds, np.arange(len(chosen))[:, None]]
        return filled


def _framing(key: str, parts: list[str]) -> bytes:
    """Returns what stands before the value of an attribute with such a text."""
    size = _size(parts)
    return attribute(key, " " * size)[:-size]


def _size(parts: list[str]) -> int:
    return sum(len(part.encode()) for part in parts[::2]) + sum(WIDTHS[kind] for kind in parts[1::2])


WIDTHS = {"uuid": 36, "call": 29, "email": 22, "order": 22, "customer": 10, "symbol": 14, "ticket": 36}
"""The length of what fills a hole, in bytes."""


class Customers:
    """The customers that texts speak of, and the names that programs use."""

    def __init__(self) -> None:
        """Makes all of them."""
        numbers = range(CUSTOMERS)
        self.ids = byte_strings([f"user-{number:05}".encode() for number in numbers])
        self.emails = byte_strings([f"user-{number:05}@example.com".encode() for number in numbers])
        self.orders = byte_strings([f"ORD-{_day(number)}-{number:07}".encode() for number in numbers])
        names = map("".join, product(_VERBS.split(), _NOUNS.split(), _SUFFIXES.split()))
        self.symbols = byte_strings([name.encode() for name in names if len(name) == WIDTHS["symbol"]])


def _day(number: int) -> str:
    return (_FIRST_DAY + timedelta(days=number % _ORDER_DAYS)).isoformat()


class Texts:
    """All texts of a data set."""

    def __init__(self, seed: int) -> None:
        """Builds them, deterministically for a seed."""
        self._rng = np.random.default_rng([seed, 0x7E875])
        self._sentences = Sentences(self._rng)
        languages = (self._sentences.english, self._sentences.japanese, self._sentences.chinese)
        self._by_language = [draw(_SENTENCES) for draw in languages]
        self.customers = Customers()
        self.questions = self._pool("input.value", self._questions, _QUESTION)
        self.outcomes = self._pool("output.value", self._outcomes, _ANSWER)
        self.histories = self._pool("input.value", self._histories, _TURN)
        self.answers = self._pool("output.value", self._answers, _ANSWER)
        self.arguments = self._pool("input.value", self._arguments, (1, 2))
        self.results = self._pool("output.value", self._results, _RESULT)
        self.short_questions = self._pool("input.value", self._questions, _SHORT)
        self.short_outcomes = self._pool("output.value", self._plain, _SHORT)
        self.failures = self._sentences.failures(_FAILURES)

    def languages(self, rng: np.random.Generator, count: int) -> IntArray:
        """Returns the language of each of `count` traces, as the number of a part of each pool."""
        return rng.choice(len(_LANGUAGE_SHARES), count, p=_LANGUAGE_SHARES)

    def choose(self, rng: np.random.Generator, languages: IntArray) -> IntArray:
        """Returns the number of a random text in each language."""
        ends = np.cumsum(_TEXTS_BY_LANGUAGE)
        sizes = np.array(_TEXTS_BY_LANGUAGE)
        chosen: IntArray = (ends - sizes)[languages] + (rng.random(len(languages)) * sizes[languages]).astype(np.int64)
        return chosen

    def _pool(self, key: str, make: Callable[[int, int, tuple[int, int]], list[str]], bounds: tuple[int, int]) -> Pool:
        made = [make(language, count, bounds) for language, count in enumerate(_TEXTS_BY_LANGUAGE)]
        return Pool(key, [text for texts in made for text in texts])

    def _plain(self, language: int, count: int, bounds: tuple[int, int]) -> list[str]:
        return self._sentences.joined(self._by_language[language], bounds, count, "" if language else " ")

    def _questions(self, language: int, count: int, bounds: tuple[int, int]) -> list[str]:
        """Returns what users ask: each names an email or an order."""
        texts = self._plain(language, count, bounds)
        return [f"{text} ({hole})" for text, hole in zip(texts, self._whose(count), strict=True)]

    def _whose(self, count: int) -> list[str]:
        return ["%email%" if draw < _WITH_EMAIL else "%order%" for draw in self._rng.random(count).tolist()]

    def _outcomes(self, language: int, count: int, bounds: tuple[int, int]) -> list[str]:
        texts = self._plain(language, count, bounds)
        return [f"{text}\nhttps://shop.example.org/cases/%ticket%" for text in texts]

    def _answers(self, language: int, count: int, bounds: tuple[int, int]) -> list[str]:
        texts = self._plain(language, count, bounds)
        return [
            _json({"id": "%call%", "messages": [{"role": "assistant", "content": text, "refusal": None}]})
            for text in texts
        ]

    def _histories(self, language: int, count: int, bounds: tuple[int, int]) -> list[str]:
        """Returns conversations, `STEPS` texts for each: what the model is sent, from call to call."""
        conversations = -(-count // STEPS)
        systems = self._plain(language, conversations, _SYSTEM)
        prompts = self._rng.integers(0, len(SYSTEM_PROMPTS), conversations).tolist()
        asked = self._questions(language, conversations, bounds)
        said = self._plain(language, conversations * STEPS, bounds)
        results = self._results(language, conversations * STEPS, bounds)
        histories = []
        for number, (system, prompt, question) in enumerate(zip(systems, prompts, asked, strict=True)):
            messages = [
                {"role": "system", "content": f"{SYSTEM_PROMPTS[prompt]}\n\n{system}"},
                {"id": "%ticket%", "role": "user", "content": question, "created_at": 1_763_000_000 + number},
            ]
            for step in range(number * STEPS, (number + 1) * STEPS):
                histories.append(_json({"messages": messages}))
                messages += [
                    {"role": "assistant", "content": said[step]},
                    {"role": "tool", "content": results[step].replace("%uuid%", f"item-{step:06}")},
                ]
        return histories[:count]

    def _arguments(self, language: int, count: int, bounds: tuple[int, int]) -> list[str]:
        """Returns arguments of tools."""
        queries, draws = self._plain(language, count, bounds), self._rng.random(count).tolist()
        made = []
        for query, draw in zip(queries, draws, strict=True):
            arguments = {"request_id": "%uuid%", "query": query}
            if draw < _WITH_CUSTOMER:
                arguments["customer_id"] = "%customer%"
            elif draw < _WITH_CUSTOMER + _WITH_SYMBOL:
                arguments["symbol"] = "%symbol%"
            made.append(_json(arguments))
        return made

    def _results(self, language: int, count: int, bounds: tuple[int, int]) -> list[str]:
        """Returns results of tools: prose, or JSON as Python writes it, with escapes for letters beyond ASCII."""
        texts = self._sentences.with_remarks(self._plain(language, count, bounds))
        draws = self._rng.random(count).tolist()
        made = []
        for text, draw in zip(texts, draws, strict=True):
            if draw < _OF_JSON:
                status = "failed" if draw < _OF_JSON * _OF_FAILED_JSON else "completed"
                made.append(json.dumps({"id": "%uuid%", "status": status, "note": text}))
            else:
                made.append(f"{text} [%uuid%]")
        return made


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def call_ids(rng: np.random.Generator, count: int) -> ByteStrings:
    """Returns random ids as providers of models make them."""
    letters = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", np.uint8)
    prefix = np.tile(np.frombuffer(b"call_", np.uint8), (count, 1))
    random = letters[rng.integers(0, len(letters), (count, WIDTHS["call"] - prefix.shape[1]), np.uint8)]
    return as_byte_strings(np.hstack([prefix, random]))


def uuid_texts(rng: np.random.Generator, count: int) -> ByteStrings:
    """Returns random UUIDs."""
    return as_byte_strings(uuids(hexadecimal(rng.integers(0, 256, (count, 16), np.uint8))))


def as_byte_strings(rows: ByteArray) -> ByteStrings:
    """Returns the rows of (n, w) bytes as byte strings."""
    return byte_strings(np.frombuffer(rows.tobytes(), f"V{rows.shape[1]}").tolist())


def byte_strings(made: list[bytes]) -> ByteStrings:
    """Returns byte strings as a NumPy array of objects, which supports fancy indexing."""
    array = np.empty(len(made), np.object_)
    array[:] = made
    return array
