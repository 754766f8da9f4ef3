"""An agent: a function or a generator that answers a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.components.base import Kind, Outcome
from spanwise.components.callables import call_arguments, stream, takes_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.components.call import Call


class Agent:
    """Answers a message.

    Attributes:
        kind: always an agent.
    """

    kind = Kind.AGENT

    def __init__(  # noqa: PLR0913  # one keyword for each thing an agent has
        self,
        run: Callable[..., Any],
        *,
        id: str = "",  # noqa: A002  # the word that every component uses
        name: str | None = None,
        description: str | None = None,
        model: str | None = None,
        db: Any = None,  # noqa: ANN401  # any database object
        store_events: bool = False,
    ) -> None:
        """Describes an agent.

        Args:
            run: a function or generator, sync or async, that takes the message, and the `Call` if it takes a second
                argument. A generator yields pieces of text and may yield a `Pause`.
            id: its handle in URL paths.
            name: its name, for people.
            description: what it is good for.
            model: the model behind it, for people and for its trace.
            db: where it keeps what it remembers; it is handed on as `call.db`.
            store_events: whether the events of its runs are part of their results.

        Raises:
            TypeError: `run` cannot be called with one or two arguments.
        """
        self.id = id
        self.name = name
        self.description = description
        self.model = model
        self.db = db
        self.store_events = store_events
        self._run = run
        self._takes_call = takes_call(run, 2)

    def initialize(self) -> None:
        """Does nothing: there is nothing to prepare."""

    def describe(self) -> dict[str, Any]:
        """Returns what a listing shows."""
        return {"model": {"name": self.model, "model": self.model}} if self.model else {}

    async def execute(self, call: Call) -> Outcome:
        """Calls the function; each piece of text is an event."""

        def on_text(piece: str) -> None:
            call.emit(self, "*Content", content=piece, content_type="str")

        arguments = call_arguments(self._takes_call, call.message, call)
        outcome = await stream(self._run, on_text, *arguments)
        if outcome.pause is None:
            call.emit(self, "*ContentCompleted")
        return outcome
