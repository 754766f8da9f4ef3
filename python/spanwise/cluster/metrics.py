"""The metrics of shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.metrics import STORE_GAUGES, Counter, Gauge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.cluster.failover.guarded import Counters
    from spanwise.metrics import Family

_LABELS = ("db_id", "shard")
_COUNTERS = {
    "breaks": (
        "spanwise_shard_breaks_total",
        "How often the shard had failed so often that it was left alone.",
    ),
    "hedges": ("spanwise_shard_hedges_total", "Searches that the follower was asked, too, as the shard took long."),
    "followed": ("spanwise_shard_followed_total", "Searches that the follower of the shard has answered."),
}


def shard_gauges(stats: Mapping[tuple[str, ...], Mapping[str, float] | None]) -> list[Family]:
    """Returns the statistics of each shard, and whether the shard responds.

    Args:
        stats: the numbers of each shard by store and prefix; None for a shard that does not respond.
    """
    answering = {values: float(numbers is not None) for values, numbers in stats.items()}
    return [
        Gauge.labelled("spanwise_shard_is_up", "1 if the shard answers, 0 if it does not.", _LABELS, answering),
        *(
            Gauge.labelled(
                name.replace("_store_", "_shard_"),
                f"Of one shard: {help_text}",
                _LABELS,
                {values: own[member] for values, own in stats.items() if own is not None and member in own},
            )
            for member, (name, help_text) in STORE_GAUGES.items()
        ),
    ]


def shard_counters(counters: Mapping[tuple[str, ...], Counters]) -> list[Family]:
    """Returns the counters of shards in other processes, by store and prefix."""
    broken = {values: float(own.is_broken) for values, own in counters.items()}
    families: list[Family] = [
        Gauge.labelled(
            "spanwise_shard_is_broken",
            "1 while the shard is not asked because it has failed several times; it is probed.",
            _LABELS,
            broken,
        )
    ]
    for member, (name, help_text) in _COUNTERS.items():
        counter = Counter(name, help_text, *_LABELS)
        for values, own in counters.items():
            counter.add(*values, by=getattr(own, member))
        families.append(counter)
    return families
