"""The parts of a component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.components.call import Component
from spanwise.components.team import Team
from spanwise.components.workflow import Condition, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanwise.components.workflow import Step


def databases_of(component: Any) -> Iterator[Any]:  # noqa: ANN401  # a component, or a factory
    """Yields the databases of a component and of all its parts. For a factory, yields the database of its products."""
    if component.db is not None:
        yield component.db
    for part in _parts(component):
        yield from databases_of(part)


def _parts(component: object) -> Iterator[Component]:
    if isinstance(component, Team):
        yield from component.members.values()
    elif isinstance(component, Workflow):
        yield from _executors(component.steps)


def _executors(steps: Iterable[Step | Condition]) -> Iterator[Component]:
    for step in steps:
        if isinstance(step, Condition):
            yield from _executors((*step.then, *step.otherwise))
        elif isinstance(step.executor, Component):
            yield step.executor
