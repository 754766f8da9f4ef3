"""The representation of runs in responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.components import Kind

if TYPE_CHECKING:
    from spanwise.database import RunRecord


def describe_run(record: RunRecord) -> dict[str, Any]:
    """Returns the members of a run: its result, or its state while the result is missing."""
    run_input = record.message if record.kind == Kind.WORKFLOW else {"input_content": record.message}
    found = {
        "run_id": record.run_id,
        "session_id": record.session_id,
        "user_id": record.user_id,
        f"{record.kind}_id": record.component_id,
        "input": run_input,
        "created_at": record.created_at,
        **record.result,
        "status": record.status,
        "damaged": record.is_damaged or None,
    }
    return {name: value for name, value in found.items() if value is not None}
