"""Gateways in a Ray cluster: services without a terminal. Ray starts them, and restarts them if they end.

Everything but `GatewayActor` runs in commands. The actor runs in the process of a gateway and does not use Ray.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from spanwise.cluster.ray.runtime import NAMESPACE, RUNTIME
from spanwise.cluster.shards.layout import divided_layout
from spanwise.errors import SpanwiseError, StoreError, UnavailableError
from spanwise.settings import Settings, absolute, load_settings

if sys.platform != "win32":
    import uvloop

MAX_GATEWAYS = 64
"""The maximum number of gateways of a store."""
OPEN_SECONDS = 60.0
"""Seconds that a gateway may take to open."""
STATUS_SECONDS = 5.0
"""Seconds that a gateway may take to report its state."""
STOP_SECONDS = 10.0
"""Seconds that a gateway may take to close after its requests have ended."""
_RETRY_SECONDS = 1.0
_log = logging.getLogger(__name__)


class GatewayPlan(Struct, frozen=True):
    """The configuration of a gateway process.

    Attributes:
        settings: the settings that are not defaults, as `Service` takes them.
        ports: the number of ports to try, from `port` on. The gateway listens on the first free one.
        serve: serves a plan until the actor is stopped. Ray finds it by its module and name.
    """

    settings: dict[str, Any]
    ports: int
    serve: Callable[[GatewayPlan, GatewayActor], Coroutine[None, None, None]]


class GatewayLocation(Struct, frozen=True):
    """The location of a gateway.

    Attributes:
        host: the name of its machine.
        process_id: the id of its process there.
        url: the address where it listens; None if it does not listen.
        error: why it does not serve; None if it does.
    """

    host: str
    process_id: int
    url: str | None
    error: str | None


class GatewayActor:
    """The gateway service of this process. Its methods are called from several threads at once.

    A thread serves it, and restarts it when it ends unexpectedly. No method is async, because Ray runs all async
    methods in one loop.
    """

    def __init__(self, plan: GatewayPlan) -> None:
        """Starts to serve."""
        self._plan = plan
        self._url: str | None = None
        self._error: str | None = "it is being opened"
        self._is_opened = threading.Event()
        self._is_stopping = threading.Event()
        self._stop: Callable[[], object] = self._is_stopping.set
        self._thread = threading.Thread(target=self._work, name="spanwise-gateway", daemon=True)
        self._thread.start()

    def open(self, seconds: float) -> GatewayLocation:
        """Returns the location of the gateway, once it serves.

        Args:
            seconds: the time limit.

        Raises:
            UnavailableError: it did not open, or not in time; the message has the reason.
        """
        self._is_opened.wait(seconds)
        location = self.location()
        if location.error is not None:
            raise UnavailableError(location.error)
        return location

    def location(self) -> GatewayLocation:
        """Returns its location, and whether it serves."""
        return GatewayLocation(socket.gethostname(), os.getpid(), self._url, self._error)

    def stop(self) -> None:
        """Waits until all requests have ended and everything is closed, or the time limit is reached."""
        self._is_stopping.set()
        self._stop()
        self._thread.join(load_settings(self._plan.settings).drain_seconds + STOP_SECONDS)

    def listens(self, url: str) -> None:
        """Records the address where the service listens."""
        self._url = url

    def opened(self) -> None:
        """Records that the service is open."""
        self._error = None
        self._is_opened.set()

    def stop_with(self, stop: Callable[[], object]) -> None:
        """Records the function that stops the service, and calls it if the gateway is stopping already."""
        self._stop = stop
        if self._is_stopping.is_set():
            stop()

    def _work(self) -> None:
        while not self._is_stopping.is_set():
            try:
                uvloop.run(self._plan.serve(self._plan, self))
            except SpanwiseError as error:
                self._fail(str(error))
            except Exception as error:  # noqa: BLE001  # it begins anew, and says why it had ended
                _log.exception("a gateway has ended")
                self._fail(f"{type(error).__name__}: {error}")
            finally:
                self._stop = self._is_stopping.set
            self._url = None
            self._is_stopping.wait(_RETRY_SECONDS)

    def _fail(self, error: str) -> None:
        self._error = error
        self._is_opened.set()


class GatewayState(Struct, frozen=True):
    """The state of a gateway.

    Attributes:
        gateway: its number, from 0.
        state: `up`; `starting` while it does not serve; or `silent` if its process does not respond.
        host: the machine of its process, if the process responds.
        process_id: the id of the process on that machine.
        url: the address where it listens.
        error: the problem, if there is one.
    """

    gateway: int
    state: str
    host: str | None = None
    process_id: int | None = None
    url: str | None = None
    error: str | None = None


def start_gateways(
    settings: Settings, count: int, serve: Callable[[GatewayPlan, GatewayActor], Coroutine[None, None, None]]
) -> list[GatewayState]:
    """Starts the missing gateways of `count` in the Ray cluster of the settings, and returns the states of all.

    Each gateway has its own data folder inside the configured one. It listens on the configured port, or on one of the
    next ports if that port is taken on its machine. `serve` is the function of `GatewayPlan`.

    Raises:
        ConfigurationError: there is no store with shards.
        StoreError: Ray is not running at the address, or a gateway does not open. A new one that does not open is
            ended.
    """
    with RUNTIME.used(settings.cluster):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        from spanwise.cluster.ray.processes import GATEWAYS, Placing, end_process, start_named  # noqa: PLC0415

        prefix, known = _prefix(settings), dict(_processes(settings))
        states = []
        for number in range(count):
            process = known.get(number)
            if process is None:
                plan = GatewayPlan(_settings_of(settings, number), count, serve)
                process = start_named(GatewayActor, Placing(f"{prefix}{number}", number), GATEWAYS, plan)
            try:
                location = ray.get(process.open.remote(OPEN_SECONDS), timeout=OPEN_SECONDS + STATUS_SECONDS)
            except (UnavailableError, RayError) as error:
                if number not in known:
                    end_process(process)
                reason = str(error).strip().partition("\n")[0]
                raise StoreError(f"gateway {number} does not open: {reason}") from error
            states.append(_state(number, location))
        return states


def states_of_gateways(settings: Settings) -> list[GatewayState]:
    """Returns the states of the gateways of a store, ordered by number.

    Raises:
        ConfigurationError: there is no store with shards, or Ray is not installed.
        StoreError: Ray is not running at the address.
    """
    with RUNTIME.used(settings.cluster):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        states = []
        for number, call in [(number, process.location.remote()) for number, process in _processes(settings)]:
            try:
                states.append(_state(number, ray.get(call, timeout=STATUS_SECONDS)))
            except RayError as error:
                reason = str(error).strip().partition("\n")[0]
                states.append(GatewayState(number, "silent", error=f"{type(error).__name__}: {reason}"))
        return states


def end_gateways(settings: Settings) -> int:
    """Ends the gateways of a store after their current requests, and returns how many there were.

    Raises:
        ConfigurationError: there is no store with shards, or Ray is not installed.
        StoreError: Ray is not running at the address.
    """
    with RUNTIME.used(settings.cluster):
        import ray  # noqa: PLC0415  # an extra
        from ray.exceptions import RayError  # noqa: PLC0415

        from spanwise.cluster.ray.processes import end_process  # noqa: PLC0415

        processes = [process for _, process in _processes(settings)]
        for process, stopped in [(process, process.stop.remote()) for process in processes]:
            try:
                ray.get(stopped, timeout=settings.drain_seconds + STOP_SECONDS + STATUS_SECONDS)
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
    return f"gateway-{divided_layout(settings.trace_store).shards[0].store}-"


def _state(number: int, location: GatewayLocation) -> GatewayState:
    state = "up" if location.error is None else "starting"
    return GatewayState(number, state, location.host, location.process_id, location.url, location.error)


def _settings_of(settings: Settings, number: int) -> dict[str, Any]:
    """Returns the settings of a gateway that differ from the defaults of its machine."""
    default = Settings()
    given = {
        name: value
        for name in Settings.__struct_fields__
        if (value := getattr(settings, name)) != getattr(default, name)
    }
    stores = {name: absolute(location) for name, location in settings.trace_stores.items()}
    own = f"{absolute(settings.folder)}/gateways/{number}"
    plain: dict[str, Any] = msgspec.to_builtins(given)
    return plain | {"stores": stores, "data_dir": own}
