"""An agent: a function or a generator that responds to a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from spanwise.components.base import Described, Kind, Members, Outcome
from spanwise.components.callables import call_arguments, stream, takes_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.components.call import Call


class Agent(Described):
    """Responds to a message.

    Attributes:
        kind: `Kind.AGENT`.
    """

    kind = Kind.AGENT

    def __init__(self, run: Callable[..., Any], **members: Unpack[Members]) -> None:
        """Creates an agent.

        Args:
            run: a function or generator, sync or async. It takes the message, and optionally the `Call` as second
                argument. A generator yields pieces of text and may yield a `Pause`.
            members: the description; see `Members`.

        Raises:
            TypeError: `run` cannot be called with one or two arguments.
        """
        super().__init__(**members)
        self._run = run
        self._takes_call = takes_call(run, 2)

    def initialize(self) -> None:
        """Does nothing, because an agent needs no preparation."""

    def describe(self) -> dict[str, Any]:
        """Returns the member `model`, if the agent names a model."""
        return {"model": {"name": self.model, "model": self.model}} if self.model else {}

    async def execute(self, call: Call) -> Outcome:
        """Calls the function and emits an event for each piece of text."""

        async def on_text(piece: str) -> None:
            call.emit_text(self, piece)
            await call.caught_up()

        arguments = call_arguments(self._takes_call, call.message, call)
        outcome = await stream(self._run, on_text, *arguments)
        if outcome.pause is None:
            call.emit(self, "*ContentCompleted")
        return outcome
