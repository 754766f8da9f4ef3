"""The processes of shards in Ray: how they are begun, and found by others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ray

from spanwise.traces.shards.cluster.actor import ShardActor
from spanwise.traces.shards.cluster.runtime import NAMESPACE

if TYPE_CHECKING:
    from spanwise.traces.shards.cluster.actor import ShardPlan

_GROUPS = {"search": 8, "write": 8, "control": 4}
"""Calls that a shard works on at once. Writes wait for the disk; they must not hold up searches, nor these the end of
one."""
_MAX_PENDING_CALLS = 256
"""Calls that a shard has not answered; above this, it is not asked."""


def start_process(plan: ShardPlan, name: str | None) -> Any:  # noqa: ANN401  # of Ray
    """Returns the process of a shard, which Ray starts again whenever it ends.

    Args:
        plan: what it needs to know.
        name: by which others find it; it outlives this process then, and is the one that has the name already, if there
            is one. None for a process of this one alone.
    """
    shared = {"name": name, "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True}
    start = ray.remote(
        num_cpus=0,
        max_restarts=-1,
        max_task_retries=0,
        max_pending_calls=_MAX_PENDING_CALLS,
        concurrency_groups=_GROUPS,
    )(ShardActor)
    return start.options(scheduling_strategy="SPREAD", **({} if name is None else shared)).remote(plan)


def find_process(name: str) -> Any | None:  # noqa: ANN401  # of Ray
    """Returns the process of a shard that has this name; None if there is none."""
    try:
        return ray.get_actor(name, namespace=NAMESPACE)
    except ValueError:
        return None


def end_process(process: Any) -> None:  # noqa: ANN401  # of Ray
    """Ends the process of a shard for good."""
    ray.kill(process, no_restart=True)
