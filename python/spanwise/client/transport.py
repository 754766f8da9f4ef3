"""How both clients reach a service: addresses, requests as values, time limits, and httpx, which is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from types import ModuleType

Shape_co = TypeVar("Shape_co", covariant=True)
DEFAULT_TIMEOUT = 60.0
"""Seconds that a request may wait for its response. By default, the service itself ends a search after 10 seconds."""


class Request(msgspec.Struct, Generic[Shape_co], frozen=True):
    """A request: its route, the shape of its response, and the body of a `POST`."""

    path: str
    shape: type[Shape_co]
    body: msgspec.Struct | None = None

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments for `request` of an httpx client."""
        if self.body is None:
            return {"method": "GET", "url": self.path}
        content = msgspec.json.encode(self.body)
        return {"method": "POST", "url": self.path, "content": content, "headers": {"Content-Type": "application/json"}}


class Target(msgspec.Struct, frozen=True):
    """The service that a client connects to."""

    url: str
    token: str | None = None
    db_id: str | None = None
    timeout: float = DEFAULT_TIMEOUT

    def options(self) -> dict[str, Any]:
        """Returns the arguments for an httpx client.

        Raises:
            ConfigurationError: the address is not HTTP.
        """
        if not self.url.startswith(("http://", "https://")):
            raise ConfigurationError(f"expected an address like `http://127.0.0.1:7777`, got `{self.url}`")
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        query = {"db_id": self.db_id} if self.db_id else {}
        return {"base_url": self.url, "headers": headers, "params": query, "timeout": self.timeout}


def httpx_module() -> ModuleType:
    """Returns httpx.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        import httpx  # noqa: PLC0415  # an extra, and a tenth of a second
    except ImportError as error:
        raise ConfigurationError(
            "the client needs httpx, which is not installed: pip install 'spanwise[client]'"
        ) from error
    return httpx
