"""The service of a gateway, without a terminal. `spanwise.cluster.gateways` runs it in a process of Ray."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any

from spanwise.app import Service
from spanwise.errors import ConfigurationError
from spanwise.http.listeners import expect_free
from spanwise.http.server import serve
from spanwise.http.shutdown_signals import Shutdown
from spanwise.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.cluster.gateways import GatewayActor, GatewayPlan
    from spanwise.http.server import Addresses

_EVERY_ADDRESS = {"0.0.0.0", "::"}  # only compared with; no socket listens there
_log = logging.getLogger(__name__)


async def serve_gateway(plan: GatewayPlan, gateway: GatewayActor) -> None:
    """Serves until `gateway` is stopped, and tells it when the service listens and is open.

    Raises:
        SpanwiseError: the service cannot be opened, or no port is free.
    """
    loop = asyncio.get_running_loop()

    def shutdown() -> Shutdown:
        made = Shutdown()
        gateway.stop_with(lambda: loop.call_soon_threadsafe(made.shutdown.set))
        return made

    def announce(addresses: Addresses) -> None:
        gateway.listens(_url_of(addresses))
        _log.info("listening on %s", addresses.main)

    await serve(_GatewayService(plan.settings | {"port": _port_of(plan)}, gateway.opened), announce, shutdown)


def _port_of(plan: GatewayPlan) -> int:
    """Returns the first free port; the last one if all others are taken.

    Raises:
        ConfigurationError: the settings are invalid.
    """
    first = load_settings(plan.settings).port
    *others, last = range(first, first + plan.ports)
    for port in others:
        try:
            expect_free(load_settings(plan.settings | {"port": port}))
        except ConfigurationError:
            continue
        return port
    return last


def _url_of(addresses: Addresses) -> str:
    scheme, _, address = addresses.main.partition("://")
    host, _, port = address.rpartition(":")
    known = socket.gethostname() if host.strip("[]") in _EVERY_ADDRESS else host
    return f"{scheme}://{known}:{port}"


class _GatewayService(Service):
    def __init__(self, settings: dict[str, Any], opened: Callable[[], None]) -> None:
        super().__init__(settings=settings)
        self.configure({}, None)
        self._has_opened = opened

    async def open(self) -> None:
        """Opens the service and reports that it is open."""
        await super().open()
        self._has_opened()
