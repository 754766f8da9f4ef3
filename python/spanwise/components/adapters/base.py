"""What adapters have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwise.components.base import Kind
    from spanwise.components.call import Call


class Adapted:
    """A component of another framework.

    Attributes:
        kind: what it is.
        is_shared: whether runs at the same time use it, so that each needs a copy; what a factory built is used once.
        tells: whether its own events say how a run begins and ends; then its outcome has a `Told`.
        makes_spans: whether an instrumentor makes the spans of its runs.
    """

    kind: Kind
    is_shared: bool = True
    tells: bool = False
    makes_spans: bool = False

    def makes_root(self, call: Call) -> bool:
        """Returns whether the instrumentor makes the span that all others of `call` are inside; else ours is it."""
        _ = call
        return self.makes_spans

    async def check_answers(self, state: Any, answers: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401  # any JSON
        """Accepts the answers to a pause, before the run goes on with them.

        Args:
            state: what the component gave to its pause.
            answers: what the caller answered.

        Raises:
            BadRequestError: they are no answers to it.
            ForbiddenError: somebody else has to answer first.
        """


def described(**members: object) -> dict[str, Any]:
    """Returns the members that say something."""
    return {name: value for name, value in members.items() if value not in (None, [], {})}
