"""Which component answers a request, over HTTP or a WebSocket, and for whom?

Source: specification, "RequestContext", "Identity precedence for runs".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from spanwise.factories import Factory, RequestContext, TrustedContext
from spanwise.runs.identity import effective

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from spanwise.auth.identity import Identity
    from spanwise.components import Component
    from spanwise.http.backend import Backend
    from spanwise.registry import Entry


class Asking(Protocol):
    """What every form and message of a run says of its caller, verified or not."""

    @property
    def user_id(self) -> str | None:
        """Who asks."""

    @property
    def session_id(self) -> str | None:
        """In which conversation."""


def context_of(
    identity: Identity, asked: Asking, given: dict[str, Any] | None, connection: HTTPConnection
) -> RequestContext:
    """Returns what a factory learns of a request: what was verified wins.

    Args:
        identity: the caller.
        asked: what it says of itself.
        given: the input of a factory.
        connection: the raw request.
    """
    return RequestContext(
        user_id=effective("user_id", identity.user_id, asked.user_id),
        session_id=effective("session_id", identity.session_id, asked.session_id),
        input=given,
        trusted=TrustedContext(identity.claims, identity.scopes),
        request=connection,
    )


async def component_of(
    entry: Entry, context: RequestContext, backend: Backend, *, read_input: bool = True
) -> Component:
    """Returns the prototype, or what the factory builds for this request.

    Args:
        entry: what is hosted under the id that was asked for.
        context: the request.
        backend: the parts of the service.
        read_input: whether a factory sees the input.

    Raises:
        FactoryError: the factory refused, failed, or took too long.
    """
    if not isinstance(entry, Factory):
        return entry
    deadline = backend.factory_deadline_seconds
    return await entry.resolve_async(context, read_input=read_input, deadline_seconds=deadline)
