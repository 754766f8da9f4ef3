"""The banner of `serve` and `demo`: addresses, data folder and authorization."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.settings import is_bucket
from spanwise.ui import PATH

if TYPE_CHECKING:
    from spanwise.http.server import Addresses
    from spanwise.settings import Settings


def banner(addresses: Addresses, settings: Settings) -> str:
    """Returns the lines of the banner."""
    otlp = [f"{addresses.otlp_http or addresses.main} (HTTP)"]
    if addresses.otlp_grpc is not None:
        otlp.append(f"{addresses.otlp_grpc} (gRPC)")
    rows = {
        "user interface": addresses.main + PATH,
        "API": f"{addresses.main}/docs",
        "OTLP": ", ".join(otlp),
        "data": ", ".join(map(_location, settings.trace_stores.values())),
        "authorization": "on" if settings.authorization else "off",
    }
    width = max(map(len, rows))
    lines = (f"  {name.ljust(width)}  {value}" for name, value in rows.items())
    return "\n".join((f"Spanwise {version('spanwise')}, until Ctrl-C", *lines))


def _location(store: str) -> str:
    return store if is_bucket(store) else str(Path(store.removeprefix("file://")).resolve())
