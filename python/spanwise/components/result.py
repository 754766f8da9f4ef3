"""The result of a call, as responses and the results of containing components include it.

See docs/reference/api-runs.md#run-results.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from spanwise.components.base import Kind
from spanwise.components.content import content_type_of, plain
from spanwise.components.events import requirements_member

if TYPE_CHECKING:
    from spanwise.components.base import Outcome
    from spanwise.components.call import Call, Component


def result_of(component: Component, call: Call, outcome: Outcome, status: str) -> dict[str, Any]:
    """Returns the result of one call as a JSON object without null members.

    Args:
        component: the executed component.
        call: its call.
        outcome: its outcome.
        status: the status of the run.

    Raises:
        ComponentError: the content cannot be represented as JSON.
    """
    content = plain(outcome.content)
    is_workflow = component.kind is Kind.WORKFLOW
    identity = {
        "run_id": call.run_id,
        f"{component.kind}_id": component.id,
        f"{component.kind}_name": component.name or component.id,
        "session_id": call.session_id,
        "user_id": call.user_id,
        "parent_run_id": call.event_context.get("parent_run_id"),
    }
    result: dict[str, Any] = {
        **identity,
        "content": content,
        "content_type": content_type_of(outcome.content),
        "model": component.model,
        "created_at": int(time.time()),
        "input": call.message if is_workflow else {"input_content": call.message},
        **outcome.parts,
        **({} if outcome.reported is None else outcome.reported.result),
        **identity,
        "status": status,
    }
    if outcome.pause is not None:
        result[requirements_member(component.kind)] = outcome.pause.requirements
    return {name: value for name, value in result.items() if value is not None}
