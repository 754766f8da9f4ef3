"""The answers to what a paused run of agno waits for, put into the run as it was stored.

agno's clients send whole tool calls and requirements back. Only what an answer may say is taken from them: nobody
changes by an answer which tool is called, with which arguments, or whose approval it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OF_TOOL = ("confirmed", "confirmation_note", "result", "answered")
_OF_STEP = ("confirmed", "user_input", "selected_choices", "edited_output", "rejection_feedback")
_FORMS = (("user_input_schema", "name", "value"), ("user_feedback_schema", "question", "selected_options"))
"""What is asked as a form: the member, what names a field of it, and what answers the field."""


def answered_run(output: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the run of an agent or a team with the answers in it: tool calls, or requirements.

    Raises:
        ValueError: an answer to nothing that the run waits for.
        TypeError: an answer of another shape.
    """
    found: dict[str, Any] = msgspec.to_builtins(output)
    for answer in answers:
        tool = answer.get("tool_execution", answer)
        if not isinstance(tool, dict):
            raise TypeError("expected `tool_execution` to be an object")
        said = _said(answer, tool)
        requirements = [each for each in found.get("requirements") or () if _is_about(each, answer, tool)]
        call_ids = {each["tool_execution"]["tool_call_id"] for each in requirements} | {tool.get("tool_call_id")}
        calls = [call for call in _calls_of(found) if call["tool_call_id"] in call_ids]
        if not calls:
            raise ValueError(f"the run waits for no tool call `{tool.get('tool_call_id')}`")
        given = {**answer, **{name: value for name, value in tool.items() if value is not None}}
        for call in calls:
            taken = said if call.get("external_execution_required") else {**said, "result": call.get("result")}
            call.update(taken | _filled(call, given))
        for requirement in requirements:
            requirement.update(
                _filled(requirement, given),
                confirmation=said.get("confirmed"),
                confirmation_note=said.get("confirmation_note"),
                external_execution_result=said.get("result"),
            )
    return found


def answered_steps(output: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the run of a workflow with the answers in it: requirements of steps.

    Raises:
        ValueError: an answer to no step that the run waits for.
        TypeError: an answer of another shape.
    """
    found: dict[str, Any] = msgspec.to_builtins(output)
    for answer in answers:
        asked = [each for each in found.get("step_requirements") or () if each["step_id"] == answer.get("step_id")]
        if not asked:
            raise ValueError(f"the run waits for no step `{answer.get('step_id')}`")
        requirement = asked[-1]
        requirement.update({name: answer[name] for name in _OF_STEP if answer.get(name) is not None})
        requirement.update(_filled(requirement, answer))
        inner = {"requirements": requirement.get("executor_requirements")}
        inner = answered_run(inner, answer.get("executor_requirements") or ())
        requirement["executor_requirements"] = inner["requirements"]
        _expect_decided(requirement)
    return found


def waits_for_approval(output: Mapping[str, Any]) -> bool:
    """Returns whether the run waits for an administrator, whose decision stands in agno's db."""
    return any(call.get("approval_type") == "required" for call in _calls_of(output))


def _calls_of(output: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Gives every tool call that a run waits for, in each place where it stands."""
    yield from output.get("tools") or ()
    for requirement in output.get("requirements") or ():
        yield from [requirement["tool_execution"]] if requirement.get("tool_execution") else []


def _is_about(requirement: Mapping[str, Any], answer: Mapping[str, Any], tool: Mapping[str, Any]) -> bool:
    call = requirement.get("tool_execution") or {}
    if requirement.get("id") is not None and requirement.get("id") == answer.get("id"):
        return True
    return call.get("tool_call_id") is not None and call.get("tool_call_id") == tool.get("tool_call_id")


def _said(answer: Mapping[str, Any], tool: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: tool[name] for name in _OF_TOOL if tool.get(name) is not None}
    for name, place in (("confirmation", "confirmed"), ("confirmation_note", "confirmation_note")):
        if answer.get(name) is not None:
            said[place] = answer[name]
    if answer.get("external_execution_result") is not None:
        said["result"] = answer["external_execution_result"]
    _expect_decided(said)
    return said


def _expect_decided(said: Mapping[str, Any]) -> None:
    if not isinstance(said.get("confirmed"), bool | None):
        raise TypeError("expected `confirmed` to be true or false")


def _filled(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the forms of what is asked, with the values that the answer gives to their fields."""
    found = {}
    for form, named, answered in _FORMS:
        given = {field.get(named): field.get(answered) for field in answer.get(form) or ()}
        if asked.get(form):
            found[form] = [{**field, answered: given.get(field[named], field.get(answered))} for field in asked[form]]
    return found
