"""What a request says about its caller and the component that it addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request


def owner_of(request: Request) -> str | None:
    """Returns the user to whose traces, sessions and runs the caller is restricted; None for everyone's."""
    owner: str | None = request.state.identity.owner_filter
    return owner


def component_id_of(request: Request) -> str:
    """Returns the id of the component in the path."""
    component_id: str = request.path_params["component_id"]
    return component_id
