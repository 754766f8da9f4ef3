"""Calls user-defined functions and generators, sync or async, and contains their errors."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from spanwise.components.base import Outcome, Pause
from spanwise.errors import ComponentError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from spanwise.components.call import Call

Result = TypeVar("Result")

MAX_THREADS = 256
"""The limit of concurrent sync callables. Each has its own thread, because a hanging one cannot be stopped."""

_thread_permits = threading.BoundedSemaphore(MAX_THREADS)
_END = object()
_CANCELLED_ITSELF = "raised CancelledError by itself"


@dataclass(frozen=True)
class _ThreadResult:
    """The return value or the exception of work in a thread."""

    value: Any = None
    error: BaseException | None = None


async def in_thread(work: Callable[[], Result]) -> Result:
    """Returns the result of `work`, which runs in its own thread, in a copy of the caller's context.

    Cancelling the caller does not stop the thread. The thread is a daemon and does not keep the process alive.

    Raises:
        UnavailableError: `MAX_THREADS` are already running.
        ComponentError: `work` raised an error that ends a thread or a process, such as `SystemExit`.
        Exception: any other error of `work`.
    """
    if not _thread_permits.acquire(blocking=False):
        raise UnavailableError(f"more than {MAX_THREADS} sync callables run at once")
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[_ThreadResult] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            end = _ThreadResult(value=context.run(work))
        except BaseException as error:  # noqa: BLE001  # raised again in the caller
            end = _ThreadResult(error=error)
        finally:
            _thread_permits.release()
        try:
            loop.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(end))
        except RuntimeError:
            return  # the event loop closed before the work ended

    threading.Thread(target=run, name="spanwise-callable", daemon=True).start()
    end = await ended
    if end.error is not None:
        raise as_exception(end.error)
    result: Result = end.value
    return result


def as_exception(error: BaseException) -> Exception:
    """Returns an error that ends a request but not the process.

    `SystemExit` and similar errors, and `StopIteration`, are wrapped in a ComponentError.
    """
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = ComponentError(f"raised {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


def takes_call(function: object, max_arguments: int) -> bool:
    """Returns whether `function` takes the `Call` as its last argument.

    Args:
        function: a user-defined function.
        max_arguments: the number of its positional arguments, including the `Call`.

    Raises:
        TypeError: it is not callable, or takes another number of arguments.
    """
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"expected a callable, got `{type(function).__name__}`")
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if named or not max_arguments - 1 <= len(positional) or len(needed) > max_arguments:
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(
            f"expected `{name}` to take {max_arguments - 1} or {max_arguments} arguments, got {len(needed)}"
        )
    return len(needed) == max_arguments or (
        len(positional) >= max_arguments and positional[max_arguments - 1].name == "call"
    )


def is_async(function: Callable[..., Any]) -> bool:
    """Returns whether `function`, or the `__call__` of an object, is a coroutine function."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # what kind of function it is, not whether it is one
    )


def _is_generator(function: Callable[..., Any], predicate: Callable[[Any], bool]) -> bool:
    return predicate(function) or predicate(getattr(function, "__call__", None))  # noqa: B004  # likewise


async def invoke(function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401  # user-defined
    """Returns the result of `function`, which runs in a thread unless it is async.

    Raises:
        Exception: any error of `function`; `SystemExit` and similar errors as ComponentError.
    """
    try:
        if not is_async(function):
            return await in_thread(lambda: function(*arguments))
        return await function(*arguments)
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise ComponentError(_CANCELLED_ITSELF) from error
    except (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration) as error:
        raise as_exception(error) from error


async def ignore_text(_text: str) -> None:
    """Ignores a piece of text."""


async def stream(
    function: Callable[..., Any], on_text: Callable[[str], Awaitable[None]], *arguments: object
) -> Outcome:
    """Returns the outcome of a function or generator.

    A generator yields pieces of text. It may yield a `Pause`, which ends it. A function returns text, another JSON
    value, or a `Pause`.

    Args:
        function: a user-defined function or generator function.
        on_text: awaited with each piece of text.
        arguments: the arguments of `function`.

    Raises:
        ComponentError: a generator yielded an invalid value, or raised `SystemExit` or a similar error.
        Exception: any other error of `function`.
    """
    if _is_generator(function, inspect.isasyncgenfunction):
        pieces = function(*arguments)
    elif _is_generator(function, inspect.isgeneratorfunction):
        pieces = _in_threads(function(*arguments))
    else:
        found = await invoke(function, *arguments)
        if isinstance(found, Pause):
            return Outcome(pause=found)
        if isinstance(found, str) and found:
            await on_text(found)
        return Outcome(content=found)
    try:
        return await _collect(pieces, on_text)
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise ComponentError(_CANCELLED_ITSELF) from error
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise as_exception(error) from error


async def _collect(pieces: AsyncIterator[object], on_text: Callable[[str], Awaitable[None]]) -> Outcome:
    texts: list[str] = []
    async for piece in pieces:
        match piece:
            case Pause():
                return Outcome(content="".join(texts) or None, pause=piece)
            case str():
                texts.append(piece)
                await on_text(piece)
            case _:
                raise ComponentError(f"expected text or a pause from a generator, got `{type(piece).__name__}`")
    return Outcome(content="".join(texts))


async def _in_threads(pieces: Iterator[object]) -> AsyncIterator[object]:
    while (piece := await in_thread(lambda: next(pieces, _END))) is not _END:
        yield piece


def _is_cancelled() -> bool:
    """Returns whether the run was cancelled. If not, a user-defined function raised `CancelledError` itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def call_arguments(with_call: bool, message: str, call: Call) -> tuple[object, ...]:  # noqa: FBT001
    """Returns the arguments of a function that takes the message and, if `with_call`, the `Call`."""
    return (message, call) if with_call else (message,)
