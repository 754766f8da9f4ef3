"""Reads the caller and the addressed component from a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request

    from spanwise.auth.identity import Identity


def owner_of(request: Request) -> str | None:
    """Returns the user whose traces, sessions and runs the caller may access; None for all users."""
    owner: str | None = request.state.identity.owner_filter
    return owner


def component_id_of(request: Request) -> str:
    """Returns the id of the component in the path."""
    component_id: str = request.path_params["component_id"]
    return component_id


def address_of(connection: HTTPConnection) -> str:
    """Returns the client address of a connection; for IPv6 its network, because one client has many addresses in it."""
    return network_of(connection.client.host if connection.client else "")


def network_of(host: str) -> str:
    """Returns the address that a host counts as; for IPv6 its network, because one client has many addresses in it."""
    return ":".join(host.split(":")[:4]) if host.count(":") > 1 and "." not in host else host


def caller_key(connection: HTTPConnection, identity: Identity | None) -> str:
    """Returns the key of a caller in shared budgets: its verified user, or else its address."""
    user_id = identity.user_id if identity else None
    return address_key(address_of(connection)) if user_id is None else f"user {user_id}"


def address_key(address: str) -> str:
    """Returns the key of an unverified caller in shared budgets, given its `network_of`."""
    return f"address {address}"


def sender_of(request: HTTPConnection) -> str:
    """Returns the client program and its address, as written to the log."""
    host = request.client.host if request.client else "an unknown address"
    return f"{host} ({request.headers.get('user-agent', 'no user agent'):.80})"
