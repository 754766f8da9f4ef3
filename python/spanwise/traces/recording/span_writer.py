"""The way of recorded spans into the store: what waits at the same time is one export, durable by one sync.

Spans are kept as they end, so that a crash leaves the trace of what was done.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.errors import SpanwiseError, StoreClosedError, StoreStoppedError, UnavailableError
from spanwise.traces.otlp import CONTENT_TYPE, export_of, spans_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

    from spanwise.traces.otlp import Verdict
    from spanwise.traces.service import Traces

MOST_BYTES_TOGETHER = 4 * 1024 * 1024
RETRY_SECONDS = (0.1, 0.5, 2.0)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Waiting:
    """Spans of one trace, as they stand in an export, and who waits for them."""

    trace_id: str
    scope_spans: list[bytes]
    size: int
    kept: asyncio.Future[bool]


class Keeping:
    """Stores the spans of every recording, one export at a time."""

    def __init__(self, traces: Traces, resource: Resource) -> None:
        """Prepares to store.

        Args:
            traces: where spans go.
            resource: who they are from.
        """
        self._traces = traces
        self._resource = resource
        self._waiting: list[_Waiting] = []
        self._working: asyncio.Task[None] | None = None

    async def keep(self, trace_id: str, spans: Sequence[ReadableSpan], verdict: Verdict) -> bool:
        """Stores spans of one trace. Returns whether they can be found now.

        Args:
            trace_id: the trace, for the log.
            spans: what is stored; a span that has not ended has no end.
            verdict: what the service knows of the run; it wins over what a component said.
        """
        if not spans:
            return True
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        scope_spans = spans_of(spans, verdict)
        self._waiting.append(_Waiting(trace_id, scope_spans, sum(map(len, scope_spans)), kept))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await kept

    async def _work(self) -> None:
        while self._waiting:
            together = self._next()
            for each, outcome in zip(together, await self._outcomes(together), strict=True):
                if not each.kept.done():
                    each.kept.set_result(outcome)

    def _next(self) -> list[_Waiting]:
        together = [self._waiting.pop(0)]
        size = together[0].size
        while self._waiting and size + self._waiting[0].size <= MOST_BYTES_TOGETHER:
            size += self._waiting[0].size
            together.append(self._waiting.pop(0))
        return together

    async def _outcomes(self, together: list[_Waiting]) -> list[bool]:
        """Returns which of them were stored whole; says why not."""
        try:
            scope_spans = [part for each in together for part in each.scope_spans]
            rejected, reason = await self._ingest(export_of(scope_spans, self._resource))
        except UnavailableError as error:
            _log.error("%d traces of runs were not stored: %s", len(together), error)  # the cause is in it
            return [False] * len(together)
        except SpanwiseError as error:
            rejected, reason = -1, str(error)
        if not rejected:
            return [True] * len(together)
        if len(together) > 1:
            # Whose spans were refused shows when each is alone; what is stored twice is stored once.
            return [outcome for each in together for outcome in await self._outcomes([each])]
        _log.error("spans of the trace %s of a run were not accepted: %s", together[0].trace_id, reason)
        return [False]

    async def _ingest(self, body: bytes) -> tuple[int, str]:
        """Returns how many spans were rejected, and why.

        Raises:
            UnavailableError: nothing was stored, however often it was tried.
            SpanwiseError: the export was refused.
        """
        for seconds in RETRY_SECONDS:
            try:
                report = await self._traces.ingest(body, CONTENT_TYPE, None, None)
            except UnavailableError as error:
                if isinstance(error, StoreClosedError | StoreStoppedError):
                    raise
                await asyncio.sleep(seconds)
            else:
                return report.rejected_spans, report.reason
        report = await self._traces.ingest(body, CONTENT_TYPE, None, None)
        return report.rejected_spans, report.reason
