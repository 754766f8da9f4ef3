"""Changes parts of agno's workflows so that a service can host them.

agno calls sync functions on the event loop. A function that blocks would delay every request of the service.

agno also stops reading the stream of an agent or a team at its run output. The garbage collector closes that generator
later. agno then stores the completed run again as cancelled, either after the workflow's run or over it.
"""

from __future__ import annotations

import inspect
from contextlib import aclosing
from functools import wraps
from typing import TYPE_CHECKING, Any

from agno.agent import Agent
from agno.run.agent import RunOutput
from agno.run.team import TeamRunOutput
from agno.team import Team
from agno.workflow import Step

from spanwise.components.callables import in_thread, is_async

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

_CHILDREN = ("steps", "else_steps", "choices")
"""The attributes of agno's compound steps that hold steps."""
_EXECUTORS = ("agent", "team", "workflow")
"""The attributes of agno's steps that hold their executor, unless it is a function."""
_DECISIONS = ("evaluator", "end_condition")
"""The attributes of agno's conditions and loops that hold a function."""

_IS_HOSTED = "is_hosted_by_spanwise"
"""Marks a selector that was already changed."""


def hosted(part: Any) -> Any:  # noqa: ANN401  # a step of agno, its executor, or a list of them
    """Returns a part of a workflow whose sync functions run in threads, and whose agents and teams run to their end.

    A part without a name gets one, because the instrumentor fails without it.

    Args:
        part: a workflow, a step, an agent, a team, a function, or a list of them. Objects are changed in place.
            Repeated calls have no further effect.
    """
    if isinstance(part, list):
        return [hosted(each) for each in part]
    if callable(part):
        return _threaded(part)
    if getattr(part, "name", "") is None:
        part.name = getattr(part, "id", None) or type(part).__name__
    if isinstance(part, Agent | Team):
        _run_to_the_end(part)
    elif isinstance(part, Step):
        _host_executor(part)
    _host_children(part)
    return part


def _host_executor(step: Any) -> None:  # noqa: ANN401  # agno's annotation of `active_executor` admits agents only
    if step.executor is not None:
        step.executor = step.active_executor = _threaded(step.executor)
    for name in _EXECUTORS:
        hosted(getattr(step, name, None))


def _host_children(part: Any) -> None:  # noqa: ANN401  # as above
    for name in _CHILDREN:
        if getattr(part, name, None):
            setattr(part, name, hosted(getattr(part, name)))
    for name in _DECISIONS:
        if callable(getattr(part, name, None)):
            setattr(part, name, _threaded(getattr(part, name)))
    if callable(getattr(part, "selector", None)):
        part.selector = _selecting(part.selector)


def _selecting(selector: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a router's selector that also prepares the steps it selects, which may not be the router's own copies."""
    if getattr(selector, _IS_HOSTED, False):
        return selector
    threaded = _threaded(selector)

    @wraps(selector)
    async def select(*arguments: object, **named: object) -> object:
        return hosted(await threaded(*arguments, **named))

    setattr(select, _IS_HOSTED, True)
    return select


def _run_to_the_end(executor: Any) -> None:  # noqa: ANN401  # an agent or a team
    """Makes the stream of an agent or a team yield its run output last."""
    if "arun" in vars(executor):
        return
    arun = executor.arun

    @wraps(arun)
    def run(*arguments: object, **named: object) -> object:
        found: Any = arun(*arguments, **named)
        is_streamed = inspect.isasyncgen(found)
        return _output_last(found) if is_streamed else found

    executor.arun = run


async def _output_last(events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Yields the run output after all other events."""
    output = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, RunOutput | TeamRunOutput):
                output = event
            else:
                yield event
    if output is not None:
        yield output


def _threaded(function: Callable[..., Any]) -> Callable[..., Any]:
    called = getattr(function, "__call__", None)  # noqa: B004  # what kind of function it is, not whether it is one
    generators = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if is_async(function) or any(is_one(each) for each in (function, called) for is_one in generators):
        return function

    @wraps(function)
    async def call(*arguments: object, **named: object) -> object:
        return await in_thread(lambda: function(*arguments, **named))

    return call
