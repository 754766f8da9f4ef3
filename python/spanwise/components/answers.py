"""Matches answers with the requirements of a paused run, and checks that all are answered.

See docs/reference/api-runs.md#continue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from spanwise.components.adapted import Adapted
from spanwise.components.call import Composite
from spanwise.errors import AnswerError, BadRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwise.components.call import Component

Requirement: TypeAlias = "Mapping[str, Any]"
Answer: TypeAlias = "Mapping[str, Any]"

_NAMES = ("id", "tool_call_id", "step_id", "step_name", "step_index")
"""The members that identify a requirement. An answer that has one must match a requirement of the run."""


class _MissingMemberError(AnswerError, KeyError):
    """An answer lacks a member that a component reads."""

    __str__ = Exception.__str__


class _AssignedAnswer(dict[str, Any]):
    """An answer whose error names the missing member. The run stays paused instead of failing."""

    def __missing__(self, name: str) -> object:
        raise _MissingMemberError(f"the answer to requirement `{_shown(self)}` has no member `{name}`")


@dataclass(frozen=True)
class PausedCall:
    """A call that waits for answers.

    Attributes:
        state: the component's state from the pause.
        requirements: the requirements to answer.
    """

    state: Any
    requirements: Sequence[Requirement]


async def check_answers(component: Component, paused: PausedCall, answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """Returns the answers for a paused call. Runs before any code of the component.

    Answers for an adapted framework stay unchanged. Other answers are sorted like their requirements and get the `id`
    of their requirement.

    Args:
        component: the paused component.
        paused: its call.
        answers: the caller's answers.

    Raises:
        BadRequestError: a requirement is not answered, or an answer belongs to no requirement.
        ForbiddenError: somebody else has to answer first.
    """
    if isinstance(component, Adapted):
        await component.check_answers(paused.state, answers)
        return tuple(answers)
    assigned = _assign(paused.requirements, answers)
    parts = component.paused_parts(paused.state) if isinstance(component, Composite) else []
    if not parts:
        _expect_all(paused.requirements, assigned)
    for part in parts:
        mine = [
            each
            for each in paused.requirements
            if part.requirement_ids is None or each.get("id") in part.requirement_ids
        ]
        given = answers_to(part.requirement_ids, tuple(each for each in assigned if each is not None))
        await check_answers(part.component, PausedCall(part.state, mine), given)
    return tuple(each for each in assigned if each is not None)


def answers_to(requirement_ids: Sequence[str] | None, answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """Returns the answers to some requirements.

    Args:
        requirement_ids: the ids of the requirements; None for all.
        answers: answers with the ids of their requirements.
    """
    return tuple(each for each in answers if requirement_ids is None or each.get("id") in requirement_ids)


def _assign(requirements: Sequence[Requirement], answers: Sequence[Answer]) -> list[Answer | None]:
    """Returns one answer for each requirement; None where it is missing.

    Raises:
        BadRequestError: an answer belongs to no requirement, or two answers belong to one.
    """
    assigned: list[Answer | None] = [None] * len(requirements)
    unnamed = []
    for answer in answers:
        names = _names(answer)
        if not names:
            unnamed.append(answer)
            continue
        named = [index for index, each in enumerate(requirements) if _agree(names, _names(each))]
        if not named:
            raise BadRequestError(f"the run has no requirement `{_shown(answer)}`")
        found = next((index for index in named if assigned[index] is None), None)
        if found is None:
            raise BadRequestError(f"requirement `{_shown(answer)}` is answered twice")
        assigned[found] = answer
    free = [index for index, answer in enumerate(assigned) if answer is None]
    if len(unnamed) > len(free):
        raise BadRequestError(f"expected one answer for each requirement: {len(requirements)}, got {len(answers)}")
    for index, answer in zip(free, unnamed, strict=False):
        assigned[index] = answer
    return [
        None if answer is None else _AssignedAnswer(answer, **({"id": each["id"]} if "id" in each else {}))
        for each, answer in zip(requirements, assigned, strict=True)
    ]


def _expect_all(requirements: Sequence[Requirement], assigned: Sequence[Answer | None]) -> None:
    """Checks that every requirement has a non-empty answer.

    Raises:
        BadRequestError: a requirement is not answered.
    """
    for requirement, answer in zip(requirements, assigned, strict=True):
        if answer is None or not any(_is_said(requirement, *member) for member in answer.items()):
            raise BadRequestError(f"requirement `{_shown(requirement)}` of the run is not answered")


def _is_said(requirement: Requirement, name: str, value: object) -> bool:
    """Returns whether a member of an answer adds something to the requirement that was sent back."""
    is_name = name in _NAMES or name == "created_at"
    return value is not None and not is_name and requirement.get(name) != value


def _names(found: Mapping[str, Any]) -> dict[str, str]:
    """Returns the identifying members of a requirement, or of an answer's requirement."""
    tool = found.get("tool_execution")
    sources = (tool if isinstance(tool, dict) else {}, found)
    return {name: str(source[name]) for source in sources for name in _NAMES if source.get(name) not in (None, "")}


def _agree(names: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Returns whether two sets of names share at least one member, and all shared members are equal."""
    common = names.keys() & others.keys()
    return bool(common) and all(names[name] == others[name] for name in common)


def _shown(found: Mapping[str, Any]) -> str:
    return next((value[:64] for value in _names(found).values()), "?")
