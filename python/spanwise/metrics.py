"""What the service counts about itself, and how it is written for Prometheus.

Everything is counted on the event loop, so nothing here locks.
Source: Prometheus, "Text-based format", version 0.0.4.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the buckets of a duration."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Family(Protocol):
    """All samples of one name."""

    name: str
    help: str
    kind: str

    def samples(self) -> Iterator[str]:
        """Yields the lines of the samples."""


class Counter:
    """What only grows, once for each combination of labels."""

    kind = "counter"

    def __init__(self, name: str, help: str, *labels: str) -> None:  # noqa: A002  # the format's own word
        """Begins at nothing.

        Args:
            name: the name of the samples.
            help: what is counted.
            labels: the names of the labels.
        """
        self.name = name
        self.help = help
        self._labels = labels
        self._counts: dict[tuple[str, ...], float] = {}

    def add(self, *values: str, by: float = 1) -> None:
        """Adds `by` to the sample whose labels have `values`."""
        self._counts[values] = self._counts.get(values, 0) + by

    def samples(self) -> Iterator[str]:
        """Yields one line a combination of labels."""
        for values, count in sorted(self._counts.items()):
            yield sample(self.name, dict(zip(self._labels, values, strict=True)), count)


class Durations:
    """How long something took, in seconds, once for each combination of labels."""

    kind = "histogram"

    def __init__(self, name: str, help: str, *labels: str) -> None:  # noqa: A002  # the format's own word
        """Begins with nothing seen.

        Args:
            name: the name of the samples.
            help: what is measured.
            labels: the names of the labels.
        """
        self.name = name
        self.help = help
        self._labels = labels
        self._buckets: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, *values: str, seconds: float) -> None:
        """Adds one duration to the samples whose labels have `values`."""
        buckets = self._buckets.setdefault(values, [0] * (len(SECONDS) + 1))
        buckets[bisect_left(SECONDS, seconds)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + seconds

    def samples(self) -> Iterator[str]:
        """Yields the buckets, the sum and the count of every combination of labels."""
        for values, buckets in sorted(self._buckets.items()):
            labels = dict(zip(self._labels, values, strict=True))
            counts = list(accumulate(buckets))
            for bound, count in zip((*SECONDS, "+Inf"), counts, strict=True):
                yield sample(f"{self.name}_bucket", {**labels, "le": str(bound)}, count)
            yield sample(f"{self.name}_sum", labels, self._sums[values])
            yield sample(f"{self.name}_count", labels, counts[-1])


class Gauge:
    """What was read at one moment, once for each value of a label."""

    kind = "gauge"

    def __init__(self, name: str, help: str, label: str, numbers: Mapping[str, float]) -> None:  # noqa: A002  # the same
        """Keeps what was read.

        Args:
            name: the name of the samples.
            help: what was read.
            label: the name of the one label.
            numbers: what was read, by the value of the label.
        """
        self.name = name
        self.help = help
        self._label = label
        self._numbers = numbers

    def samples(self) -> Iterator[str]:
        """Yields one line a value of the label."""
        for value, number in self._numbers.items():
            yield sample(self.name, {self._label: value}, number)


def sample(name: str, labels: Mapping[str, str], number: float) -> str:
    """Returns one line."""
    written = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in labels.items())
    return f"{name}{{{written}}} {number:.17g}" if labels else f"{name} {number:.17g}"


def exposition(families: Iterable[Family]) -> str:
    """Returns the text that Prometheus reads; families without a sample are left out."""
    lines: list[str] = []
    for family in families:
        samples = list(family.samples())
        if samples:
            lines += (f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}", *samples)
    return "\n".join(lines) + "\n"
