"""Starts and finds the processes of shards in Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from spanwise.cluster.ray.actor import FollowerActor, ShardActor
from spanwise.cluster.ray.runtime import NAMESPACE
from spanwise.errors import StoreError

if TYPE_CHECKING:
    from spanwise.cluster.ray.actor import ShardPlan

_GROUPS = {"search": 8, "write": 8, "control": 4}
"""Concurrent calls of a shard. Writes wait for the disk; they must not delay searches, and searches must not delay the
end of a search."""
SHARDS, GATEWAYS = "shard", "gateway"
"""Node resources that select what runs on a node."""
_TRACE = 0.001
"""A negligible amount of a resource."""
_MAX_PENDING_CALLS = 256
"""Unanswered calls of a shard. Above this, it receives no requests."""


class Placing(NamedTuple):
    """The placement of a process.

    Attributes:
        shared_as: the name by which all services find it, and under which it outlives them; None for a process of one
            service.
        slot: the number of its node, modulo the number of nodes. Equal slots share a node; consecutive slots use
            different nodes if there are several. A process restarted on another node stays there.
    """

    shared_as: str | None
    slot: int


def start_process(plan: ShardPlan, placing: Placing) -> Any:  # noqa: ANN401  # Ray has no type for it
    """Returns the process of a shard, which Ray restarts whenever it ends.

    Args:
        plan: the configuration of the process.
        placing: the placement. A shared process with this name is reused if it exists.
    """
    return start_named(FollowerActor if plan.follows else ShardActor, placing, SHARDS, plan)


def start_named(kind: type, placing: Placing, resource: str, *arguments: object) -> Any:  # noqa: ANN401  # Ray has no type for it
    """Returns a process that Ray restarts whenever it ends.

    Args:
        kind: the class of the actor.
        placing: see `start_process`.
        resource: the process runs on nodes with this resource, if there are any.
        arguments: the arguments of the class.
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
    """Returns the node id of a slot, and the resources that a process must request to run there.

    Ray places a process without resource requests at random, even with a node affinity.

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


def find_process(name: str) -> Any | None:  # noqa: ANN401  # Ray has no type for it
    """Returns the process of the shard with this name; None if it does not exist."""
    try:
        return ray.get_actor(name, namespace=NAMESPACE)
    except ValueError:
        return None


def end_process(process: Any) -> None:  # noqa: ANN401  # Ray has no type for it
    """Ends the process of a shard for good."""
    ray.kill(process, no_restart=True)
