"""Rejects the routes that a read-only process does not serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from spanwise.auth.scopes import Need
from spanwise.errors import MethodNotAllowedError, NotFoundError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.errors import SpanwiseError
    from spanwise.http.core.route import Route

SESSIONS_PATH = "/sessions"
_DELETION = Need.of("traces:delete")


def reader_rejection(route: Route, writer_url: str) -> Callable[[], NoReturn] | None:
    """Returns a function that rejects requests of a route that a reader does not serve; None for other routes.

    OTLP exporters retry after a 503, and lose data after a 405.

    Args:
        route: the route.
        writer_url: the address of the writer; empty if unknown.
    """
    writer = f"the writer, {writer_url}" if writer_url else "the writer"
    if route.operation.is_otlp:
        return _raise(UnavailableError, f"this process only reads traces, and stores none; send them to {writer}")
    if route.operation.concerns_runs:
        detail = f"this process only reads traces: it hosts no components and keeps no runs; ask {writer}"
        if route.method != "GET":
            return _raise(MethodNotAllowedError, detail)
        return _raise(NotFoundError, detail) if route.path.startswith(SESSIONS_PATH) else None
    if route.need == _DELETION:
        return _raise(MethodNotAllowedError, f"this process only reads traces, and deletes none; ask {writer}")
    return None


def _raise(kind: type[SpanwiseError], detail: str) -> Callable[[], NoReturn]:
    def reject() -> NoReturn:
        raise kind(detail)

    return reject
