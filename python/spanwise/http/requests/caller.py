"""What a request says about its caller and the component that it addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request

    from spanwise.auth.identity import Identity


def owner_of(request: Request) -> str | None:
    """Returns the user to whose traces, sessions and runs the caller is restricted; None for everyone's."""
    owner: str | None = request.state.identity.owner_filter
    return owner


def component_id_of(request: Request) -> str:
    """Returns the id of the component in the path."""
    component_id: str = request.path_params["component_id"]
    return component_id


def address_of(connection: HTTPConnection) -> str:
    """Returns the address that a connection comes from: of IPv6 the network, as one client has many addresses there."""
    return network_of(connection.client.host if connection.client else "")


def network_of(host: str) -> str:
    """Returns the address that a host counts as: of IPv6 the network, as one client has many addresses there."""
    return ":".join(host.split(":")[:4]) if host.count(":") > 1 and "." not in host else host


def caller_key(connection: HTTPConnection, identity: Identity | None) -> str:
    """Returns the key under which a caller shares the budgets: its verified user, otherwise its address."""
    user_id = identity.user_id if identity else None
    return address_key(address_of(connection)) if user_id is None else f"user {user_id}"


def address_key(address: str) -> str:
    """Returns the key under which a caller that is not verified shares the budgets, given its `network_of`."""
    return f"address {address}"


def sender_of(request: HTTPConnection) -> str:
    """Returns the program that sent a request and its address, for the log."""
    host = request.client.host if request.client else "an unknown address"
    return f"{host} ({request.headers.get('user-agent', 'no user agent'):.80})"
