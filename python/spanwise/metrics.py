"""Metric types, and the text format that Prometheus reads.

Metrics are updated on the event loop only, so they need no locks.
Source: Prometheus, "Text-based format", version 0.0.4.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DURATION_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the buckets of a histogram, in seconds."""

STORE_GAUGES = {
    "traces": ("spanwise_store_traces", "Traces that a search without a filter finds."),
    "segments": ("spanwise_store_segments", "Sealed segments."),
    "segment_bytes": ("spanwise_store_segment_bytes", "Bytes of the objects of sealed segments."),
    "index_bytes": ("spanwise_store_index_bytes", "Bytes of their indexes, in the cache."),
    "segments_without_spans": (
        "spanwise_store_segments_without_spans",
        "Sealed segments without a span table yet: conditions on spans read their documents.",
    ),
    "segments_without_texts": (
        "spanwise_store_segments_without_texts",
        "Sealed segments without a text index: conditions on texts read their documents.",
    ),
    "segments_without_attributes": (
        "spanwise_store_segments_without_attributes",
        "Sealed segments without an index of attributes yet: conditions on attributes read their documents.",
    ),
    "generations": ("spanwise_store_head_generations", "Generations of the head, including the open one."),
    "unsealed_bytes": ("spanwise_store_unsealed_bytes", "Bytes in the write-ahead log that are not sealed yet."),
    "unsealed_objects": ("spanwise_store_unsealed_wal_objects", "Write-ahead log objects that are not sealed yet."),
    "waiting_bytes": ("spanwise_store_write_queue_bytes", "Bytes of ingest requests that wait to be written."),
    "wal_through": ("spanwise_store_wal_last_object", "Number of the newest write-ahead log object."),
    "wal_folded_through": ("spanwise_store_wal_checkpoint", "Number of the last write-ahead log object in segments."),
    "manifest": ("spanwise_store_manifest_version", "Number of the newest manifest."),
    "is_acknowledging": ("spanwise_store_is_writable", "1 if the store accepts spans, 0 if it must be reopened first."),
    "holding_fault": (
        "spanwise_store_is_unsearchable",
        "1 while searches are rejected: another process holds the store, or that is not known.",
    ),
    "lag_seconds": (
        "spanwise_store_lag_seconds",
        "Of a reader: how long ago the last look at the store began after which all was known.",
    ),
    "following_fault": (
        "spanwise_store_is_following_failing",
        "Of a reader: 1 while looks at the store fail; they are retried.",
    ),
    "is_merging": ("spanwise_store_is_merging", "1 while segments are being merged."),
    "seal_fault": ("spanwise_store_is_seal_failing", "1 while sealing the head fails; it is retried."),
    "merge_fault": ("spanwise_store_is_merge_failing", "1 if a merge failed, or leaves out a damaged segment."),
    "indexing_fault": (
        "spanwise_store_is_indexing_failing",
        "1 while indexing documents fails; it is retried.",
    ),
    "retention_fault": ("spanwise_store_is_retention_failing", "1 while retention fails; it is retried."),
}
"""The name and the help text of the gauge for each number in the statistics of a trace store."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Family(Protocol):
    """A metric family: all samples of one name."""

    name: str
    help: str
    kind: str

    def samples(self) -> Iterator[str]:
        """Yields the sample lines."""


class Counter:
    """A number that only grows. Each combination of label values has its own."""

    kind = "counter"

    def __init__(self, name: str, help: str, *labels: str) -> None:  # noqa: A002  # the format's own word
        """Creates a counter without samples.

        Args:
            name: the metric name.
            help: the help text.
            labels: the label names.
        """
        self.name = name
        self.help = help
        self._labels = labels
        self._counts: dict[tuple[str, ...], float] = {}

    def add(self, *values: str, by: float = 1) -> None:
        """Adds `by` to the sample with these label values."""
        self._counts[values] = self._counts.get(values, 0) + by

    def samples(self) -> Iterator[str]:
        """Yields one line for each combination of label values."""
        for values, count in sorted(self._counts.items()):
            yield sample(self.name, dict(zip(self._labels, values, strict=True)), count)


class Histogram:
    """Durations in seconds. Each combination of label values has its own."""

    kind = "histogram"

    def __init__(self, name: str, help: str, *labels: str) -> None:  # noqa: A002  # the format's own word
        """Creates a histogram without samples.

        Args:
            name: the metric name.
            help: the help text.
            labels: the label names.
        """
        self.name = name
        self.help = help
        self._labels = labels
        self._buckets: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, *values: str, seconds: float) -> None:
        """Adds one duration to the samples with these label values."""
        buckets = self._buckets.setdefault(values, [0] * (len(DURATION_BUCKETS) + 1))
        buckets[bisect_left(DURATION_BUCKETS, seconds)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + seconds

    def samples(self) -> Iterator[str]:
        """Yields the buckets, the sum and the count for each combination of label values."""
        for values, buckets in sorted(self._buckets.items()):
            labels = dict(zip(self._labels, values, strict=True))
            counts = list(accumulate(buckets))
            for bound, count in zip((*DURATION_BUCKETS, "+Inf"), counts, strict=True):
                yield sample(f"{self.name}_bucket", {**labels, "le": str(bound)}, count)
            yield sample(f"{self.name}_sum", labels, self._sums[values])
            yield sample(f"{self.name}_count", labels, counts[-1])


class Gauge:
    """Numbers read at one moment, one per combination of label values. Without labels there is one number."""

    kind = "gauge"

    def __init__(self, name: str, help: str, label: str | None, numbers: Mapping[str, float]) -> None:  # noqa: A002  # likewise
        """Creates a gauge.

        Args:
            name: the metric name.
            help: the help text.
            label: the label name; None if there is only one number.
            numbers: the numbers by label value.
        """
        self.name = name
        self.help = help
        self._labels: tuple[str, ...] = () if label is None else (label,)
        self._numbers: dict[tuple[str, ...], float] = {
            (value,) if self._labels else (): number for value, number in numbers.items()
        }

    @classmethod
    def single(cls, name: str, help: str, number: float) -> Gauge:  # noqa: A002  # likewise
        """Returns a gauge without labels."""
        return cls(name, help, None, {"": number})

    @classmethod
    def labelled(
        cls,
        name: str,
        help: str,  # noqa: A002  # likewise
        labels: tuple[str, ...],
        numbers: Mapping[tuple[str, ...], float],
    ) -> Gauge:
        """Returns a gauge with several labels. `numbers` maps label values to numbers."""
        gauge = cls(name, help, None, {})
        gauge._labels, gauge._numbers = labels, dict(numbers)
        return gauge

    def samples(self) -> Iterator[str]:
        """Yields one line for each combination of label values."""
        for values, number in self._numbers.items():
            yield sample(self.name, dict(zip(self._labels, values, strict=True)), number)


def sample(name: str, labels: Mapping[str, str], number: float) -> str:
    """Returns one sample line."""
    pairs = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in labels.items())
    return f"{name}{{{pairs}}} {number:.17g}" if labels else f"{name} {number:.17g}"


def exposition(families: Iterable[Family]) -> str:
    """Returns the text that Prometheus scrapes. Families without samples are omitted."""
    lines: list[str] = []
    for family in families:
        samples = list(family.samples())
        if samples:
            lines += (f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}", *samples)
    return "\n".join(lines) + "\n"
