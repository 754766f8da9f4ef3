"""Running what a program wrote: functions and generators, sync or async, whatever they raise."""

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

THREADS = 256
"""Sync callables that run at once; each has a thread of its own, which nothing but its own end can stop."""

_places = threading.BoundedSemaphore(THREADS)
_END = object()


@dataclass(frozen=True)
class _Ended:
    """How work in a thread ended."""

    value: Any = None
    error: BaseException | None = None


async def in_thread(work: Callable[[], Result]) -> Result:
    """Returns what `work` returns, done in a thread of its own, inside the caller's context.

    Whoever is cancelled stops waiting; the thread goes on until `work` returns. It does not keep the process.

    Raises:
        UnavailableError: too many run already.
        ComponentError: `work` raised what would end a thread or a process, such as `SystemExit`.
    """
    if not _places.acquire(blocking=False):
        raise UnavailableError(f"more than {THREADS} sync callables run at once")
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[_Ended] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            end = _Ended(value=context.run(work))
        except BaseException as error:  # noqa: BLE001  # carried to the one who waits
            end = _Ended(error=error)
        finally:
            _places.release()
        try:
            loop.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(end))
        except RuntimeError:
            return  # the loop ended before the work did

    threading.Thread(target=run, name="spanwise-callable", daemon=True).start()
    end = await ended
    if end.error is not None:
        raise as_exception(end.error)
    result: Result = end.value
    return result


def as_exception(error: BaseException) -> Exception:
    """Returns an error that ends a request, not the process: `SystemExit` and its like are wrapped."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = ComponentError(f"raised {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


def takes_call(function: object, most: int) -> bool:
    """Returns whether `function` wants the call beside what it is asked.

    Args:
        function: what a program wrote.
        most: how many positional arguments it may take.

    Raises:
        TypeError: it takes another number of arguments, or cannot be called at all.
    """
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"expected a callable, got `{type(function).__name__}`")
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if named or not most - 1 <= len(positional) or len(needed) > most:
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"expected `{name}` to take {most - 1} or {most} arguments, got {len(needed)}")
    return len(needed) == most or (len(positional) >= most and positional[most - 1].name == "call")


def is_async(function: Callable[..., Any]) -> bool:
    """Returns whether calling `function` gives something to await; an object may have an async `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # what kind of function it is, not whether it is one
    )


def _is_generator(function: Callable[..., Any], judge: Callable[[Any], bool]) -> bool:
    return judge(function) or judge(getattr(function, "__call__", None))  # noqa: B004  # likewise


async def invoke(function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401  # a program's own
    """Returns what `function` returns: awaited if it is async, else from a thread.

    Raises:
        Exception: what it raised; `SystemExit` and its like as ComponentError.
    """
    try:
        if not is_async(function):
            return await in_thread(lambda: function(*arguments))
        return await function(*arguments)
    except asyncio.CancelledError as error:
        raise _cancelled(error) from error
    except (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration) as error:
        raise as_exception(error) from error


async def unheard(_text: str) -> None:
    """Takes a piece of text that is no event."""


async def stream(
    function: Callable[..., Any], on_text: Callable[[str], Awaitable[None]], *arguments: object
) -> Outcome:
    """Returns what became of a function or generator.

    A generator yields text, each piece of which goes to `on_text`, and may yield one `Pause`, which ends it.
    A function returns text, anything that JSON can hold, or a `Pause`.
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
        return await _gather(pieces, on_text)
    except asyncio.CancelledError as error:
        raise _cancelled(error) from error
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise as_exception(error) from error


async def _gather(pieces: AsyncIterator[object], on_text: Callable[[str], Awaitable[None]]) -> Outcome:
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


def _cancelled(error: asyncio.CancelledError) -> BaseException:
    """Tells a cancelled run from a program that raised the error by itself."""
    task = asyncio.current_task()
    return error if task is not None and task.cancelling() else ComponentError("raised CancelledError by itself")


def call_arguments(function_takes_call: bool, message: str, call: Call) -> tuple[object, ...]:  # noqa: FBT001
    """Returns what a function is called with."""
    return (message, call) if function_takes_call else (message,)
