"""Checks query parameters that a route does not define.

On our own routes they are an error, because a typo must not look like a result. On agno and OTLP routes, whose clients
others write, they are ignored. Each is logged once, unless agno's own service accepts it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spanwise.errors import ValidationError
from spanwise.http.requests.query import query_parameters
from spanwise.masking import masked_request_text

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.core.operation import Operation

AGNO_PATHS = frozenset({"/config", "/models", "/traces/search", "/traces/filter-schema", "/trace_session_stats"})
AGNO_PREFIXES = ("/agents", "/teams", "/workflows", "/sessions", "/approvals")
AGNO_METHODS_AND_PATHS = frozenset({("GET", "/traces"), ("GET", "/traces/{trace_id}")})
"""The routes that agno's service also has: see docs/reference/agno-client.md."""
AGNO_PARAMETERS = frozenset(
    {
        *(
            "agent_id",
            "component_id",
            "created_after",
            "created_before",
            "db_id",
            "end_time",
            "limit",
            "page",
            "run_id",
        ),
        *("session_id", "session_name", "sort_by", "sort_order", "span_id", "start_time", "status", "table", "team_id"),
        *("type", "user_id", "version", "workflow_id"),
    }
)
"""Parameters that agno's client sends to any of them. Those without an effect are accepted."""
MAX_LOGGED = 100
_MAX_CHARACTERS = 64
_log = logging.getLogger(__name__)


def is_agnos(method: str, path: str) -> bool:
    """Returns True if agno's service also has this route. `path` has its parameters in braces."""
    return path in AGNO_PATHS or path.startswith(AGNO_PREFIXES) or (method, path) in AGNO_METHODS_AND_PATHS


class UnknownParameters:
    """Rejects unknown query parameters, or logs each of them once."""

    def __init__(self) -> None:
        """Starts with an empty set of logged parameters."""
        self._logged: set[tuple[str, str]] = set()

    def check(self, request: Request, path: str, operation: Operation) -> None:
        """Checks the names of the query parameters.

        Args:
            request: the request.
            path: the path of its route, with its parameters in braces.
            operation: the description of the route.

        Raises:
            ValidationError: one of our own routes does not define a parameter, or there are too many.
        """
        if not request.scope["query_string"]:
            return
        query = operation.query
        known = frozenset(query.__struct_encode_fields__) if query else frozenset[str]()
        unknown = [name for name in query_parameters(request) if name not in known]
        if not unknown:
            return
        if not (is_agnos(request.method, path) or operation.is_otlp):
            expected = ", ".join(f"`{name}`" for name in sorted(known)) or "none"
            shown = unknown[0][:_MAX_CHARACTERS]
            raise ValidationError(f"Unknown parameter, expected {expected} - at `{shown}`")
        for name in unknown:
            self._log_once(path, masked_request_text(name)[:_MAX_CHARACTERS])

    def _log_once(self, path: str, name: str) -> None:
        if name in AGNO_PARAMETERS or (path, name) in self._logged or len(self._logged) >= MAX_LOGGED:
            return
        self._logged.add((path, name))
        _log.warning("the query parameter `%s` of %s is unknown and ignored (logged once)", name, path)
