"""What commands do with the shards of a store in a Ray cluster: start, look at and end their processes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from spanwise.errors import ConfigurationError
from spanwise.traces.shards.cluster.opening import follower_name, process_name
from spanwise.traces.shards.cluster.runtime import LOCAL, RUNTIME

if TYPE_CHECKING:
    from spanwise.traces.shards.cluster.actor import ProcessPlace
    from spanwise.traces.shards.layout import Layout

NAMES = {"writer": process_name, "follower": follower_name}
"""How the processes of a shard are called, by their role."""
LOOK_SECONDS = 5.0
"""How long a shard has to say how it is."""
CLOSE_SECONDS = 60.0
"""How long it has to write what it is writing before it is ended."""


class ShardState(Struct, frozen=True):
    """How a shard is.

    Attributes:
        shard: its prefix.
        role: `writer`, or `follower` for what answers searches beside it.
        state: `up`; `starting`, while its store is not open; `silent`, if its process does not answer; or `down`, if it
            has none.
        host: the machine of its process, if that answers.
        process_id: the id of it there.
        traces: how many it has, if it is up.
        error: what is wrong, if something is.
    """

    shard: str
    role: str
    state: str
    host: str | None = None
    process_id: int | None = None
    traces: int | None = None
    error: str | None = None


def expect_cluster(address: str) -> None:
    """Raises an error unless shards may outlive the service at an address.

    Raises:
        ConfigurationError: it is that of a Ray that is started for a service.
    """
    if address == LOCAL:
        raise ConfigurationError(
            "`local` is a Ray that ends with its service: expected the address of a Ray cluster, or `auto`"
        )


def states_of(layout: Layout, address: str) -> list[ShardState]:
    """Returns how the shards of a layout are, in its order.

    Raises:
        ConfigurationError: Ray is not installed.
        StoreError: there is none at the address.
    """
    with RUNTIME.used(address):
        from spanwise.traces.shards.cluster.processes import find_process  # noqa: PLC0415  # Ray is an extra

        # All are asked at once, since one that is silent takes its time.
        found = [
            (shard.prefix, role, find_process(name_of(shard.store)))
            for shard in layout.shards
            for role, name_of in NAMES.items()
        ]
        asked = [
            (prefix, role, process and (process.place.remote(), process.call.remote("stats")))
            for prefix, role, process in found
            if process or role == "writer"  # not every shard has a follower
        ]
        return [
            _state(prefix, role, calls) if calls else ShardState(prefix, role, "down") for prefix, role, calls in asked
        ]


def _state(prefix: str, role: str, calls: tuple[Any, Any]) -> ShardState:
    import ray  # noqa: PLC0415  # an extra
    from ray.exceptions import RayError  # noqa: PLC0415

    try:
        place: ProcessPlace = ray.get(calls[0], timeout=LOOK_SECONDS)
        if place.error is not None:
            return ShardState(prefix, role, "starting", place.host, place.process_id, error=place.error)
        traces = msgspec.json.decode(ray.get(calls[1], timeout=LOOK_SECONDS))["traces"]
    except RayError as error:
        return ShardState(prefix, role, "silent", error=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    return ShardState(prefix, role, "up", place.host, place.process_id, traces)


def end_shards(layout: Layout, address: str) -> dict[str, int]:
    """Closes the stores of the shards of a layout, ends their processes and those of their followers.

    Returns:
        How many processes were ended, by their role.

    Raises:
        ConfigurationError: Ray is not installed.
        StoreError: there is none at the address.
    """
    with RUNTIME.used(address):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        from spanwise.traces.shards.cluster.processes import end_process, find_process  # noqa: PLC0415

        processes = [
            (role, found)
            for shard in layout.shards
            for role, name_of in NAMES.items()
            if (found := find_process(name_of(shard.store)))
        ]
        closing = [process.call.remote("close") for _, process in processes]
        for (_, process), closed in zip(processes, closing, strict=True):
            try:
                ray.get(closed, timeout=CLOSE_SECONDS)
            except RayError:
                # Nothing that was acknowledged is lost: its write-ahead log has it.
                continue
            finally:
                end_process(process)
        return Counter(role for role, _ in processes)
