"""The base class of adapted components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwise.components.base import Kind
    from spanwise.components.call import Call


class Adapted:
    """A component of another framework.

    Attributes:
        kind: the kind of component.
        is_shared: whether concurrent runs use it, so that each may need a copy; a factory's product is used once.
        reports_outcome: whether its outcome has a `ReportedOutcome`, and its own events report the start of a streamed
            run.
        is_instrumented: whether an instrumentor makes the spans of its runs.
    """

    kind: Kind
    is_shared: bool = True
    reports_outcome: bool = False
    is_instrumented: bool = False

    def instruments_root(self, call: Call) -> bool:
        """Returns whether the instrumentor also makes the root span of `call`. If not, we make it."""
        _ = call
        return self.is_instrumented

    async def check_answers(self, state: Any, answers: Sequence[Mapping[str, Any]]) -> None:  # noqa: ANN401  # any JSON
        """Validates the answers to a pause, before the run resumes with them.

        Args:
            state: the component's state from the pause.
            answers: the caller's answers.

        Raises:
            BadRequestError: they do not match the requirements of the run.
            ForbiddenError: somebody else has to answer first.
        """


def without_empty(**members: object) -> dict[str, Any]:
    """Returns the members that are neither None nor an empty list or dict."""
    return {name: value for name, value in members.items() if value not in (None, [], {})}
