"""Responses whose memory is charged to their caller before they exist and until they are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from starlette.responses import Response, StreamingResponse

from spanwise.http.requests.media_types import JSON
from spanwise.runs.storage.pages import Encoded, RunPages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import Receive, Scope, Send

    from spanwise.fair_budget import Lease
    from spanwise.http.responses.budget import ResponseBudget


class HeldResponse(Response):
    """A response that releases a lease after another response was sent, even after an error."""

    def __init__(self, response: Response, lease: Lease) -> None:
        """Wraps a response."""
        super().__init__(status_code=response.status_code)
        self._response = response
        self._lease = lease

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response."""
        try:
            await self._response(scope, receive, send)
        finally:
            self._lease.close()


async def held(budget: ResponseBudget, build: Callable[[Lease], Awaitable[Response]]) -> Response:
    """Returns the response of `build`. The memory that `build` takes is released once the response is sent.

    Args:
        budget: the response budget.
        build: takes memory with the lease, then reads the data and returns the response.

    Raises:
        Exception: the error of `build`.
    """
    lease = budget.hold()
    try:
        response = await build(lease)
    except BaseException:  # a client that disconnects cancels this
        lease.close()
        raise
    return HeldResponse(response, lease)


class RunList(Generic[Encoded]):
    """A JSON array of runs. It is streamed if it has more than one page.

    Attributes:
        head: the JSON before the runs.
    """

    head = b"["

    def __init__(self, pages: RunPages[Encoded], first: list[Encoded]) -> None:
        """Starts with a page.

        Args:
            pages: the runs after the first page.
            first: the runs of the first page.
        """
        self._pages = pages
        self._first = first

    def text(self, run: Encoded) -> bytes:
        """Returns the JSON of one run. Called once per run, in order."""
        assert isinstance(run, bytes)  # noqa: S101  # subclasses encode otherwise
        return run

    def tail(self) -> bytes:
        """Returns the JSON after the runs. Called after all runs."""
        return b"]"

    def response(self, status: int = 200) -> Response:
        """Returns the response."""
        if self._pages.is_done:
            body = self.head + b",".join(map(self.text, self._first)) + self.tail()
            return Response(body, status, media_type=JSON)
        return StreamingResponse(self._pieces(), status, media_type=JSON)

    async def _pieces(self) -> AsyncIterator[bytes]:
        page, self._first = self._first, []
        before = self.head
        while True:
            if page:
                yield before + b",".join(map(self.text, page))
                before = b","
            if self._pages.is_done:
                break
            page = await self._pages.next()
        yield self.tail() if before == b"," else self.head + self.tail()
