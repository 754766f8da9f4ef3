"""Steps of agno's workflows whose sync functions run in threads.

agno calls them on the event loop, where one that waits holds up every request of the service.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

from agno.workflow import Step

from spanwise.components.callables import in_thread, is_async

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACES = ("steps", "else_steps", "choices")
"""Where agno's compound steps keep theirs."""


def off_the_loop(part: Any) -> Any:  # noqa: ANN401  # a step of agno, a function, or a list of them
    """Returns what stands in a workflow, changed in place where it can be: no sync function runs on the loop."""
    if isinstance(part, list):
        return [off_the_loop(each) for each in part]
    if isinstance(part, Step):
        if part.executor is not None:
            step: Any = part  # its active executor has the type of an agent
            step.executor = step.active_executor = _threaded(part.executor)
        off_the_loop(getattr(part, "workflow", None))
    elif callable(part):
        return _threaded(part)
    for place in _PLACES:
        if getattr(part, place, None):
            setattr(part, place, off_the_loop(getattr(part, place)))
    return part


def _threaded(function: Callable[..., Any]) -> Callable[..., Any]:
    called = getattr(function, "__call__", None)  # noqa: B004  # what kind of function it is, not whether it is one
    generators = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if is_async(function) or any(is_one(each) for each in (function, called) for is_one in generators):
        return function

    @wraps(function)
    async def call(*arguments: object, **named: object) -> object:
        return await in_thread(lambda: function(*arguments, **named))

    return call
