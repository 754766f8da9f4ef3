"""Merges answers into the stored requirements of a paused agno run.

agno's clients send back whole tool calls and requirements. Only the answers in them are used. A client therefore cannot
change the called tool, its arguments, or the required approver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_TOOL_ANSWERS: dict[str, type] = {"confirmed": bool, "confirmation_note": str, "result": str, "answered": bool}
_STEP_ANSWERS: dict[str, type] = {
    "confirmed": bool,
    "user_input": dict,
    "selected_choices": list,
    "edited_output": object,
    "rejection_feedback": str,
}
"""The members that answer a tool call or the requirement of a step, with their types."""
_JSON_TYPES = {bool: "a boolean", str: "a string", dict: "an object", list: "an array"}
_STEP_NAMES = ("step_id", "step_name", "step_index")
"""The members that identify a step. Any of them suffices, because agno's event for a paused step lacks `step_id`."""
_FORMS = (("user_input_schema", "name", "value"), ("user_feedback_schema", "question", "selected_options"))
"""The forms of a requirement: its member, the member that names a field, and the member that answers a field."""


def resolve_requirements(output: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the stored run of an agent or a team with its answers.

    Args:
        output: the run, as a JSON object of agno's `RunOutput` or `TeamRunOutput`.
        answers: tool calls, or requirements.

    Raises:
        ValueError: an answer is for a tool call that the run does not wait for.
        TypeError: an answer has the wrong shape.
    """
    found: dict[str, Any] = msgspec.to_builtins(output)
    for answer in answers:
        tool = answer.get("tool_execution", answer)
        if not isinstance(tool, dict):
            raise TypeError("expected `tool_execution` to be an object")
        values = _values(answer, tool)
        requirements = [each for each in found.get("requirements") or () if _matches(each, answer, tool)]
        call_ids = {each["tool_execution"]["tool_call_id"] for each in requirements} | {tool.get("tool_call_id")}
        calls = [call for call in _tool_calls(found) if call["tool_call_id"] in call_ids]
        if not calls:
            raise ValueError(f"the run has no pending tool call `{tool.get('tool_call_id')}`")
        given = {**answer, **{name: value for name, value in tool.items() if value is not None}}
        for call in calls:
            # Only a tool that is executed externally gets its result from the caller.
            is_external = call.get("external_execution_required")
            forms = _forms(call, given)
            call.update((values if is_external else {**values, "result": call.get("result")}) | forms)
            if any(given.get(form) for form in forms) and not _has_open_field(call):
                call["answered"] = True
        for requirement in requirements:
            requirement.update(
                _forms(requirement, given),
                confirmation=values.get("confirmed"),
                confirmation_note=values.get("confirmation_note"),
                external_execution_result=values.get("result"),
            )
    return found


def resolve_step_requirements(output: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the stored run of a workflow with its answers.

    Args:
        output: the run, as a JSON object of agno's `WorkflowRunOutput`.
        answers: requirements of steps.

    Raises:
        ValueError: an answer is for a step that the run does not wait for.
        TypeError: an answer has the wrong shape.
    """
    found: dict[str, Any] = msgspec.to_builtins(output)
    for answer in answers:
        names = {name: answer[name] for name in _STEP_NAMES if answer.get(name) not in (None, "")}
        waiting = found.get("step_requirements") or ()
        matching = [each for each in waiting if all(each.get(name) == value for name, value in names.items())]
        if not names or not matching:
            raise ValueError(f"the run has no pending step {names or 'without step_id, step_name and step_index'}")
        requirement = matching[-1]
        requirement.update(_typed(answer, _STEP_ANSWERS))
        _expect_choices(requirement)
        requirement.update(_forms(requirement, answer))
        inner = {"requirements": requirement.get("executor_requirements")}
        inner = resolve_requirements(inner, answer.get("executor_requirements") or ())
        requirement["executor_requirements"] = inner["requirements"]
    return found


def needs_approval(output: Mapping[str, Any]) -> bool:
    """Returns whether a run waits for an administrator, whose decision is stored in agno's database."""
    return any(call.get("approval_type") == "required" for call in _tool_calls(output))


def unanswered_tools(calls: Iterable[Any]) -> list[str]:
    """Returns the names of the tools that still wait for an answer.

    Args:
        calls: tool calls as agno's `ToolExecution`, or any objects with its attributes.
    """
    return [call.tool_name for call in calls if not _is_answered(call)]


def _is_answered(call: Any) -> bool:  # noqa: ANN401  # see `unanswered_tools`
    if call.requires_confirmation and call.confirmed is None:
        return False
    if call.external_execution_required and call.result is None:
        return False
    return not call.requires_user_input or bool(call.answered)


def _has_open_field(call: Mapping[str, Any]) -> bool:
    """Returns whether a form field of a tool call has no value."""
    return any(field.get(answered) is None for form, _, answered in _FORMS for field in call.get(form) or ())


def _tool_calls(output: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields every occurrence of every tool call that a run waits for."""
    yield from output.get("tools") or ()
    for requirement in output.get("requirements") or ():
        yield from [requirement["tool_execution"]] if requirement.get("tool_execution") else []


def _matches(requirement: Mapping[str, Any], answer: Mapping[str, Any], tool: Mapping[str, Any]) -> bool:
    call = requirement.get("tool_execution") or {}
    if requirement.get("id") is not None and requirement.get("id") == answer.get("id"):
        return True
    return call.get("tool_call_id") is not None and call.get("tool_call_id") == tool.get("tool_call_id")


def _values(answer: Mapping[str, Any], tool: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an answer's values under the member names of a tool call. Values of a requirement take precedence."""
    values = dict(tool)
    for name, target in (
        ("confirmation", "confirmed"),
        ("confirmation_note", "confirmation_note"),
        ("external_execution_result", "result"),
    ):
        if answer.get(name) is not None:
            values[target] = answer[name]
    return _typed(values, _TOOL_ANSWERS)


def _typed(given: Mapping[str, Any], types: Mapping[str, type]) -> dict[str, Any]:
    """Returns the members of `given` that are in `types` and not null.

    Raises:
        TypeError: a member has the wrong type.
    """
    found = {name: given[name] for name in types if given.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, types[name]):
            raise TypeError(f"expected `{name}` to be {_JSON_TYPES[types[name]]}")
    return found


def _expect_choices(requirement: Mapping[str, Any]) -> None:
    """Checks that a router has the selected routes.

    Raises:
        ValueError: a route is missing.
    """
    available = requirement.get("available_choices")
    for choice in requirement.get("selected_choices") or ():
        if available and choice not in available:
            raise ValueError(f"step `{requirement.get('step_name')}` has no choice `{choice}`")


def _forms(requirement: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the forms of a requirement, filled in with the values of the answer."""
    found = {}
    for form, named, answered in _FORMS:
        given = {field.get(named): field.get(answered) for field in answer.get(form) or ()}
        if requirement.get(form):
            found[form] = [
                {**field, answered: given.get(field[named], field.get(answered))} for field in requirement[form]
            ]
    return found
