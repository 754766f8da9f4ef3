"""Steps of agno's workflows whose sync functions are moved to threads.

agno calls them on the event loop, where a function that waits blocks every request of the service.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

from agno.workflow import Step

from spanwise.components.callables import in_thread, is_async

if TYPE_CHECKING:
    from collections.abc import Callable

_CHILDREN = ("steps", "else_steps", "choices")
"""The attributes of agno's compound steps that hold steps."""


def run_in_threads(part: Any) -> Any:  # noqa: ANN401  # a step of agno, a function, or a list of them
    """Returns a part of a workflow in which every sync function runs in a thread.

    Args:
        part: a workflow, a step, a function, or a list of them. Objects are changed in place.
    """
    if isinstance(part, list):
        return [run_in_threads(each) for each in part]
    if isinstance(part, Step):
        if part.executor is not None:
            step: Any = part  # agno's annotation of `active_executor` admits agents only
            step.executor = step.active_executor = _threaded(part.executor)
        run_in_threads(getattr(part, "workflow", None))
    elif callable(part):
        return _threaded(part)
    for name in _CHILDREN:
        if getattr(part, name, None):
            setattr(part, name, run_in_threads(getattr(part, name)))
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
