"""Recordings of requests and answers: making, reading and comparing them."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

import msgspec

from answers.application import Answer, Request
from answers.fixture import load_survey, opened_copy
from answers.questions import Questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_A_COPY = 1_000
"""Requests that one copy of the store answers, so that the age of its head never decides when it is flushed."""
_SHOWN_CHARACTERS = 160
_SHOWN_DIFFERENCES = 5


class Recorded(msgspec.Struct, frozen=True):
    """One line of a recording."""

    request: Request
    answer: Answer


class Comparison(msgspec.Struct):
    """How two recordings agree.

    Attributes:
        equal: the number of equal answers by kind of request.
        different: the differences by kind of request.
        unpaired: lines whose requests differ, or that only one recording has.
    """

    equal: Counter[str]
    different: dict[str, list[tuple[Recorded, Recorded]]]
    unpaired: int = 0

    @property
    def is_equal(self) -> bool:
        return not self.different and not self.unpaired


async def record(store: Path, recording: Path, requests: int, seed: int) -> bool:
    """Writes the answers of the store in a data folder to seeded requests, one line of JSON each.

    Returns:
        True if the segments had the same indexes as in the survey. Otherwise answers may depend on the time.
    """
    is_settled = True
    found = load_survey(store)
    drawn = Questions(Random(seed), found).draw(requests)
    with recording.open("wb") as lines:
        while part := list(islice(drawn, _A_COPY)):
            async with opened_copy(store) as application:
                is_settled &= await application.settle(found.missing_indexes)
                for request in part:
                    answer = await application.send(request)
                    lines.write(msgspec.json.encode(Recorded(request, answer)) + b"\n")
    return is_settled


def read(recording: Path) -> Iterator[Recorded]:
    """Yields the lines of a recording."""
    decoder = msgspec.json.Decoder(Recorded)
    with recording.open("rb") as lines:
        yield from map(decoder.decode, lines)


def compare(one: Iterable[Recorded], other: Iterable[Recorded]) -> Comparison:
    """Compares two recordings of the same requests, line by line."""
    result = Comparison(Counter(), {})
    first, second = iter(one), iter(other)
    for own in first:
        given = next(second, None)
        if given is None or given.request != own.request:
            result.unpaired += 1
        elif given.answer == own.answer:
            result.equal[own.request.kind] += 1
        else:
            result.different.setdefault(own.request.kind, []).append((own, given))
    result.unpaired += sum(1 for _ in second)
    return result


def summary(recording: Iterable[Recorded]) -> Iterator[str]:
    """Yields the number of answers of each kind and status, with the part that found something."""
    counts: Counter[tuple[str, int]] = Counter()
    empty: Counter[tuple[str, int]] = Counter()
    for each in recording:
        key = each.request.kind, each.answer.status if each.answer.is_complete else -each.answer.status
        counts[key] += 1
        empty[key] += is_empty(each.answer)
    for (kind, status), count in sorted(counts.items()):
        shown = f"{-status} (incomplete)" if status < 0 else str(status)
        yield f"{kind:20} {shown:>16} {count:6}  {empty[kind, status]:5} empty"


def is_empty(answer: Answer) -> bool:
    """Returns True if an answer found nothing."""
    if answer.status != 200 or not answer.is_complete:
        return False
    nothing = ('{"data":[]', '{"deleted":0}', "0 bytes")
    return not answer.text or answer.text.startswith(nothing) or '"matched":0' in answer.text


def differences(result: Comparison) -> Iterator[str]:
    """Yields the report on a comparison, with the first differences of each kind."""
    for kind in sorted({*result.equal, *result.different}):
        found = result.different.get(kind, [])
        yield f"{kind:20} {result.equal[kind]:6} equal {len(found):6} different"
    if result.unpaired:
        yield f"{result.unpaired} requests have no counterpart: record both with the same store, seed and number"
    for kind, found in sorted(result.different.items()):
        for own, given in found[:_SHOWN_DIFFERENCES]:
            yield f"\n{kind}: {own.request.caller}: {own.request.method} {own.request.target}\n  {own.request.body}"
            yield from _difference(own.answer, given.answer)


def _difference(one: Answer, other: Answer) -> Iterator[str]:
    start = _first_difference(one.text, other.text)
    for name, answer in (("A", one), ("B", other)):
        state = "" if answer.is_complete else ", incomplete"
        piece = answer.text[max(0, start - _SHOWN_CHARACTERS) : start + _SHOWN_CHARACTERS]
        yield f"  {name}: {answer.status} {answer.media_type}{state}, from character {start}: {piece}"


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (own, given) in pairs if own != given), min(len(one), len(other)))
