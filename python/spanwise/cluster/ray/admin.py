"""Starts, inspects and ends the processes of a store's shards in a Ray cluster, for commands."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from spanwise.cluster.ray.opening import follower_name, process_name
from spanwise.cluster.ray.runtime import LOCAL, RUNTIME
from spanwise.cluster.shards.layout import divided_layout
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from spanwise.cluster.ray.actor import ProcessLocation

NAMES = {"writer": process_name, "follower": follower_name}
"""The names of a shard's processes, by role."""
STATUS_SECONDS = 5.0
"""How long a shard may take to report its state."""
CLOSE_SECONDS = 60.0
"""How long a shard may take to finish its writes before it is ended."""


class ShardState(Struct, frozen=True):
    """The state of a shard.

    Attributes:
        shard: its prefix.
        role: `writer`, or `follower` for the process that serves searches beside it.
        state: `up`; `starting`, while its store is not open; `silent`, if its process does not respond; or `down`, if
            it has no process.
        host: the machine of its process, if that responds.
        process_id: the id of the process there.
        traces: its number of traces, if it is up.
        error: the problem, if there is one.
    """

    shard: str
    role: str
    state: str
    host: str | None = None
    process_id: int | None = None
    traces: int | None = None
    error: str | None = None


def expect_cluster(address: str) -> None:
    """Checks that shards at an address may outlive the service.

    Raises:
        ConfigurationError: the address is of a Ray that runs only for one service.
    """
    if address == LOCAL:
        raise ConfigurationError(
            "`local` starts a Ray that ends with the service; use the address of a Ray cluster or `auto`"
        )


def states_of(url: str, address: str) -> list[ShardState]:
    """Returns the states of the shards of the store at `url`, in the order of its layout.

    Raises:
        ConfigurationError: Ray is not installed, or the store does not exist or is not sharded.
        StoreError: Ray does not answer at the address.
    """
    layout = divided_layout(url)
    with RUNTIME.used(address):
        from spanwise.cluster.ray.processes import find_process  # noqa: PLC0415  # Ray is an extra

        # All shards are queried at once, because a silent one takes the whole timeout.
        found = [
            (shard.prefix, role, find_process(name_of(shard.store)))
            for shard in layout.shards
            for role, name_of in NAMES.items()
        ]
        asked = [
            (prefix, role, process and (process.location.remote(), process.call.remote("stats")))
            for prefix, role, process in found
            if process or role == "writer"  # followers are optional
        ]
        return [
            _state(prefix, role, calls) if calls else ShardState(prefix, role, "down") for prefix, role, calls in asked
        ]


def _state(prefix: str, role: str, calls: tuple[Any, Any]) -> ShardState:
    import ray  # noqa: PLC0415  # an extra
    from ray.exceptions import RayError  # noqa: PLC0415

    try:
        location: ProcessLocation = ray.get(calls[0], timeout=STATUS_SECONDS)
        if location.error is not None:
            return ShardState(prefix, role, "starting", location.host, location.process_id, error=location.error)
        traces = msgspec.json.decode(ray.get(calls[1], timeout=STATUS_SECONDS))["traces"]
    except RayError as error:
        return ShardState(prefix, role, "silent", error=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    return ShardState(prefix, role, "up", location.host, location.process_id, traces)


def end_shards(url: str, address: str) -> dict[str, int]:
    """Closes the shards of the store at `url`, and ends their processes and followers.

    Returns:
        The number of ended processes, by role.

    Raises:
        ConfigurationError: Ray is not installed, or the store does not exist or is not sharded.
        StoreError: Ray does not answer at the address.
    """
    layout = divided_layout(url)
    with RUNTIME.used(address):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        from spanwise.cluster.ray.processes import end_process, find_process  # noqa: PLC0415

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
                # Acknowledged data is not lost, because the write-ahead log has it.
                continue
            finally:
                end_process(process)
        return Counter(role for role, _ in processes)
