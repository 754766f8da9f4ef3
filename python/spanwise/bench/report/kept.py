"""What a report had before: the figures of data sets that are not measured anew stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.report.figures import DataSet

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

FIGURES = {
    "build": ("store",),
    "indexes": ("index_bytes", "index_seconds", "bytes_elsewhere"),
    "check": ("checked_answers",),
    "engine": ("queries", "geometric_mean", "lowest_ratio", "memory_bytes"),
    "aggregate": ("aggregations",),
    "facets": ("facets",),
    "texts": ("texts",),
    "spans": ("spans",),
    "attributes": ("attributes",),
    "questions": ("questions",),
    "masks": ("masks",),
    "http": ("http", "pages"),
    "ingest": ("ingest",),
    "open": ("open",),
}
"""The figures of each stage."""
_PREPARING = {"build", "check"}
"""Stages after which there is nothing to compare yet; what has no others is not worth a section."""


def merged(kept: Sequence[DataSet], measured: Sequence[DataSet]) -> list[DataSet]:
    """Returns the data sets of a report in the order of their size.

    A kept data set loses the stages that were measured again with the same number of traces, documents and seed, and
    leaves the report once nothing is left of it. One store may be built today and have been built in another way
    before, so what is left of a kept data set is a section of its own.
    """
    again = {_shape(found): set(found.stages) for found in measured}
    left = [_without(found, again.get(_shape(found), set())) for found in kept]
    every = [found for found in (*left, *measured) if set(found.stages) - _PREPARING]
    return sorted(every, key=lambda found: (*_shape(found), _built(found)))


def _shape(found: DataSet) -> tuple[int, str, int]:
    return found.traces, found.documents, found.seed


def _built(found: DataSet) -> str:
    return found.stages["build"].when if "build" in found.stages else ""


def _without(found: DataSet, stages: Collection[str]) -> DataSet:
    """Returns a data set without some of its stages; the circumstances of its build stay with what is left."""
    left = {name: part for name, part in found.stages.items() if name in _PREPARING or name not in stages}
    figures = {name: getattr(found, name) for stage in left for name in FIGURES[stage]}
    return DataSet(found.traces, found.documents, found.seed, left, found.command, **figures)
