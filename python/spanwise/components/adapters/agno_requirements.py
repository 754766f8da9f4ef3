"""Answers to the requirements of a paused run of agno, merged into the run as it was stored.

agno's clients send whole tool calls and requirements back. Only the answers in them are used: nobody can change which
tool is called, with which arguments, or whose approval it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TOOL_ANSWERS = ("confirmed", "confirmation_note", "result", "answered")
_STEP_ANSWERS = ("confirmed", "user_input", "selected_choices", "edited_output", "rejection_feedback")
_FORMS = (("user_input_schema", "name", "value"), ("user_feedback_schema", "question", "selected_options"))
"""The forms of a requirement: its member, the member that names a field, and the member that answers a field."""


def resolve_requirements(output: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the stored run of an agent or a team with the answers in it.

    Args:
        output: the run, as a JSON object of agno's `RunOutput` or `TeamRunOutput`.
        answers: tool calls, or requirements.

    Raises:
        ValueError: the run does not wait for an answer's tool call.
        TypeError: an answer is of another shape.
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
            raise ValueError(f"the run waits for no tool call `{tool.get('tool_call_id')}`")
        given = {**answer, **{name: value for name, value in tool.items() if value is not None}}
        for call in calls:
            # Only a tool that is executed elsewhere gets its result from the caller.
            is_external = call.get("external_execution_required")
            call.update((values if is_external else {**values, "result": call.get("result")}) | _forms(call, given))
        for requirement in requirements:
            requirement.update(
                _forms(requirement, given),
                confirmation=values.get("confirmed"),
                confirmation_note=values.get("confirmation_note"),
                external_execution_result=values.get("result"),
            )
    return found


def resolve_step_requirements(output: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the stored run of a workflow with the answers in it.

    Args:
        output: the run, as a JSON object of agno's `WorkflowRunOutput`.
        answers: requirements of steps.

    Raises:
        ValueError: the run does not wait for an answer's step.
        TypeError: an answer is of another shape.
    """
    found: dict[str, Any] = msgspec.to_builtins(output)
    for answer in answers:
        matching = [each for each in found.get("step_requirements") or () if each["step_id"] == answer.get("step_id")]
        if not matching:
            raise ValueError(f"the run waits for no step `{answer.get('step_id')}`")
        requirement = matching[-1]
        requirement.update({name: answer[name] for name in _STEP_ANSWERS if answer.get(name) is not None})
        requirement.update(_forms(requirement, answer))
        inner = {"requirements": requirement.get("executor_requirements")}
        inner = resolve_requirements(inner, answer.get("executor_requirements") or ())
        requirement["executor_requirements"] = inner["requirements"]
        _expect_boolean(requirement)
    return found


def needs_approval(output: Mapping[str, Any]) -> bool:
    """Returns whether a run waits for an administrator, whose decision is in agno's database."""
    return any(call.get("approval_type") == "required" for call in _tool_calls(output))


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
    """Returns the values of an answer by the names of a tool call; those of a requirement win."""
    values = {name: tool[name] for name in _TOOL_ANSWERS if tool.get(name) is not None}
    for name, target in (
        ("confirmation", "confirmed"),
        ("confirmation_note", "confirmation_note"),
        ("external_execution_result", "result"),
    ):
        if answer.get(name) is not None:
            values[target] = answer[name]
    _expect_boolean(values)
    return values


def _expect_boolean(values: Mapping[str, Any]) -> None:
    if not isinstance(values.get("confirmed"), bool | None):
        raise TypeError("expected `confirmed` to be true or false")


def _forms(requirement: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the forms of a requirement, with the values that the answer gives to their fields."""
    found = {}
    for form, named, answered in _FORMS:
        given = {field.get(named): field.get(answered) for field in answer.get(form) or ()}
        if requirement.get(form):
            found[form] = [
                {**field, answered: given.get(field[named], field.get(answered))} for field in requirement[form]
            ]
    return found
