"""Starts, inspects and ends the gateway processes of a store in a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from spanwise.errors import StoreError, UnavailableError
from spanwise.fronts.actor import STOP_SECONDS, FrontActor, FrontPlace, FrontPlan
from spanwise.settings import Settings, absolute
from spanwise.traces.admin import divided_layout
from spanwise.traces.shards.cluster.runtime import NAMESPACE, RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRONTS = 64
"""The maximum number of gateways of a store."""
OPEN_SECONDS = 60.0
"""Seconds that a gateway may take to open."""
LOOK_SECONDS = 5.0
"""Seconds that a gateway may take to report its state."""


class FrontState(Struct, frozen=True):
    """The state of a gateway.

    Attributes:
        front: its number, from 0.
        state: `up`; `starting` while it does not serve; or `silent` if its process does not respond.
        host: the machine of its process, if the process responds.
        process_id: the id of the process on that machine.
        url: the address where it listens.
        error: the problem, if there is one.
    """

    front: int
    state: str
    host: str | None = None
    process_id: int | None = None
    url: str | None = None
    error: str | None = None


def start_fronts(settings: Settings, count: int) -> list[FrontState]:
    """Starts the missing gateways of `count` in the Ray cluster of the settings, and returns the states of all.

    Each gateway has its own data folder inside the configured one. It listens on the configured port, or on one of the
    next ports if that port is taken on its machine.

    Raises:
        ConfigurationError: there is no store with shards.
        StoreError: Ray is not running at the address, or a gateway does not open. A new one that does not open is
            ended.
    """
    with RUNTIME.used(settings.cluster):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        from spanwise.traces.shards.cluster.processes import FRONTS, Placing, end_process, start_named  # noqa: PLC0415

        prefix, known = _prefix(settings), dict(_processes(settings))
        states = []
        for number in range(count):
            process = known.get(number)
            if process is None:
                plan = FrontPlan(_settings_of(settings, number), count)
                process = start_named(FrontActor, Placing(f"{prefix}{number}", number), FRONTS, plan)
            try:
                place = ray.get(process.open.remote(OPEN_SECONDS), timeout=OPEN_SECONDS + LOOK_SECONDS)
            except (UnavailableError, RayError) as error:
                if number not in known:
                    end_process(process)
                reason = str(error).strip().partition("\n")[0]
                raise StoreError(f"front door {number} does not open: {reason}") from error
            states.append(_state(number, place))
        return states


def states_of_fronts(settings: Settings) -> list[FrontState]:
    """Returns the states of the gateways of a store, ordered by number.

    Raises:
        ConfigurationError: there is no store with shards, or Ray is not installed.
        StoreError: Ray is not running at the address.
    """
    with RUNTIME.used(settings.cluster):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        states = []
        for number, call in [(number, process.place.remote()) for number, process in _processes(settings)]:
            try:
                states.append(_state(number, ray.get(call, timeout=LOOK_SECONDS)))
            except RayError as error:
                reason = str(error).strip().partition("\n")[0]
                states.append(FrontState(number, "silent", error=f"{type(error).__name__}: {reason}"))
        return states


def end_fronts(settings: Settings) -> int:
    """Ends the gateways of a store after their current requests, and returns how many there were.

    Raises:
        ConfigurationError: there is no store with shards, or Ray is not installed.
        StoreError: Ray is not running at the address.
    """
    with RUNTIME.used(settings.cluster):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        from spanwise.traces.shards.cluster.processes import end_process  # noqa: PLC0415

        processes = [process for _, process in _processes(settings)]
        for process, stopped in [(process, process.stop.remote()) for process in processes]:
            try:
                ray.get(stopped, timeout=settings.drain_seconds + STOP_SECONDS + LOOK_SECONDS)
            except RayError:
                # It may be ended anyway, because acknowledged data is durable.
                continue
            finally:
                end_process(process)
        return len(processes)


def _processes(settings: Settings) -> Iterator[tuple[int, Any]]:
    """Yields the numbers and processes of the gateways of a store."""
    import ray  # noqa: PLC0415  # an extra

    prefix = _prefix(settings)
    named = (own["name"] for own in ray.util.list_named_actors(all_namespaces=True) if own["namespace"] == NAMESPACE)
    numbers = sorted(int(name.removeprefix(prefix)) for name in named if name.startswith(prefix))
    for number in numbers:
        yield number, ray.get_actor(f"{prefix}{number}", namespace=NAMESPACE)


def _prefix(settings: Settings) -> str:
    """Returns the prefix of the names of a store's gateways, which is unique to the store."""
    return f"front-{divided_layout(settings.trace_store).shards[0].store}-"


def _state(number: int, place: FrontPlace) -> FrontState:
    state = "up" if place.error is None else "starting"
    return FrontState(number, state, place.host, place.process_id, place.url, place.error)


def _settings_of(settings: Settings, number: int) -> dict[str, Any]:
    """Returns the settings of a gateway that differ from the defaults of its machine."""
    default = Settings()
    given = {
        name: value
        for name in Settings.__struct_fields__
        if (value := getattr(settings, name)) != getattr(default, name)
    }
    stores = {name: absolute(place) for name, place in settings.trace_stores.items()}
    own = f"{absolute(settings.folder)}/fronts/{number}"
    plain: dict[str, Any] = msgspec.to_builtins(given)
    return plain | {"stores": stores, "data_dir": own}
