"""The processes of shards in Ray: how they are begun, and found by others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from spanwise.errors import StoreError
from spanwise.traces.shards.cluster.actor import FollowerActor, ShardActor
from spanwise.traces.shards.cluster.runtime import NAMESPACE

if TYPE_CHECKING:
    from spanwise.traces.shards.cluster.actor import ShardPlan

_GROUPS = {"search": 8, "write": 8, "control": 4}
"""Calls that a shard works on at once. Writes wait for the disk; they must not hold up searches, nor these the end of
one."""
SHARDS, FRONTS = "shard", "front"
"""Resources of nodes that say what is to run on them."""
_TRACE = 0.001
"""Of a resource: next to nothing."""
_MAX_PENDING_CALLS = 256
"""Calls that a shard has not answered; above this, it is not asked."""


class Placing(NamedTuple):
    """Where a process runs, and for whom.

    Attributes:
        shared_as: the name by which all services find it, and which it outlives them by; None if it is of one alone.
        slot: its node is the one of this number, counted over and over: equal ones share a node, those that follow
            each other do not if there are several nodes. One that is started again on another node stays there.
    """

    shared_as: str | None
    slot: int


def start_process(plan: ShardPlan, placing: Placing) -> Any:  # noqa: ANN401  # of Ray
    """Returns the process of a shard, which Ray starts again whenever it ends.

    Args:
        plan: what it needs to know.
        placing: where it runs. If it is shared, the process is the one that has the name already, if there is one.
    """
    return start_named(FollowerActor if plan.follows else ShardActor, placing, SHARDS, plan)


def start_named(kind: type, placing: Placing, resource: str, *arguments: object) -> Any:  # noqa: ANN401  # of Ray
    """Returns a process that Ray starts again whenever it ends.

    Args:
        kind: the class of what runs in it.
        placing: see `start_process`.
        resource: it is on nodes that have this one, if there are any.
        arguments: those of the class.
    """
    name = placing.shared_as
    shared = {"name": name, "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True}
    node, needs = _node(placing.slot, resource)
    start = ray.remote(
        max_restarts=-1,
        max_task_retries=0,
        max_pending_calls=_MAX_PENDING_CALLS,
        concurrency_groups=_GROUPS,
    )(kind)
    strategy = NodeAffinitySchedulingStrategy(node, soft=True)
    return start.options(scheduling_strategy=strategy, **needs, **({} if name is None else shared)).remote(*arguments)


def _node(slot: int, resource: str) -> tuple[str, dict[str, Any]]:
    """Returns the id of the node of a slot, and what a process needs so that it is there.

    Ray places what needs nothing at random, whatever it is told.

    Raises:
        StoreError: no node has processors.
    """
    alive = [node for node in ray.nodes() if node["Alive"]]
    kinds: list[tuple[str, dict[str, Any]]] = [
        (resource, {"num_cpus": 0, "resources": {resource: _TRACE}}),
        ("CPU", {"num_cpus": _TRACE}),
    ]
    for wanted, needs in kinds:
        if nodes := sorted(str(node["NodeID"]) for node in alive if node["Resources"].get(wanted)):
            return nodes[slot % len(nodes)], needs
    raise StoreError("no node of the Ray cluster has processors: `ray start --num-cpus` says how many one has")


def find_process(name: str) -> Any | None:  # noqa: ANN401  # of Ray
    """Returns the process of a shard that has this name; None if there is none."""
    try:
        return ray.get_actor(name, namespace=NAMESPACE)
    except ValueError:
        return None


def end_process(process: Any) -> None:  # noqa: ANN401  # of Ray
    """Ends the process of a shard for good."""
    ray.kill(process, no_restart=True)
