"""The batched writer of recorded spans. Spans that wait at the same time share one OTLP request and one disk sync.

Spans are written as they end, so that the trace is complete up to a crash.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spanwise.errors import SpanwiseError, StoreClosedError, StoreStoppedError, UnavailableError
from spanwise.traces.otlp import CONTENT_TYPE
from spanwise.traces.recording.otlp_request import encode_request, encode_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

    from spanwise._engine import IngestReport
    from spanwise.traces.recording.otlp_request import RunOverrides

MAX_REQUEST_BYTES = 4 * 1024 * 1024
"""The maximum size of combined writes. A single larger write is sent alone."""
RETRY_SECONDS = (0.1, 0.5, 2.0)

_log = logging.getLogger(__name__)


class Ingester(Protocol):
    """The destination of spans, such as `spanwise.traces.service.Traces`."""

    async def ingest(
        self, body: bytes, content_type: str, content_encoding: str | None, db_id: str | None
    ) -> IngestReport:
        """Stores one OTLP request; see `Traces.ingest`."""
        ...


@dataclass(frozen=True)
class _PendingWrite:
    """Encoded spans of one trace, and the future that their writer awaits."""

    trace_id: str
    scope_spans: list[bytes]
    size: int
    stored: asyncio.Future[bool]


class SpanWriter:
    """Writes the spans of all recordings, one request at a time."""

    def __init__(self, traces: Ingester, resource: Resource) -> None:
        """Creates a writer.

        Args:
            traces: stores the spans.
            resource: the resource that produced them.
        """
        self._traces = traces
        self._resource = resource
        self._pending: list[_PendingWrite] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, trace_id: str, spans: Sequence[ReadableSpan], overrides: RunOverrides) -> bool:
        """Stores spans of one trace. Returns True if searches can now find all of them; failures are logged.

        Args:
            trace_id: the trace, as logged.
            spans: the spans; open ones are stored without an end time.
            overrides: facts about the run.
        """
        if not spans:
            return True
        stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        scope_spans = encode_spans(spans, overrides)
        self._pending.append(_PendingWrite(trace_id, scope_spans, sum(map(len, scope_spans)), stored))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_pending())
        return await stored

    async def _write_pending(self) -> None:
        while self._pending:
            batch = self._next_batch()
            for write, is_stored in zip(batch, await self._write_batch(batch), strict=True):
                if not write.stored.done():
                    write.stored.set_result(is_stored)

    def _next_batch(self) -> list[_PendingWrite]:
        batch = [self._pending.pop(0)]
        size = batch[0].size
        while self._pending and size + self._pending[0].size <= MAX_REQUEST_BYTES:
            size += self._pending[0].size
            batch.append(self._pending.pop(0))
        return batch

    async def _write_batch(self, batch: list[_PendingWrite]) -> list[bool]:
        """Returns for each write True if all its spans were stored. Logs the reason of a failure."""
        try:
            scope_spans = [part for write in batch for part in write.scope_spans]
            rejected, reason = await self._ingest(encode_request(scope_spans, self._resource))
        except UnavailableError as error:
            _log.error("%d traces of runs were not stored: %s", len(batch), error)  # the message contains the cause
            return [False] * len(batch)
        except SpanwiseError as error:
            rejected, reason = -1, str(error)
        if not rejected:
            return [True] * len(batch)
        if len(batch) > 1:
            # The report does not identify the rejected spans, so each write is repeated alone. Storing a span again is
            # harmless.
            return [is_stored for write in batch for is_stored in await self._write_batch([write])]
        _log.error("spans of the trace %s of a run were rejected: %s", batch[0].trace_id, reason)
        return [False]

    async def _ingest(self, body: bytes) -> tuple[int, str]:
        """Returns the number of rejected spans, and the reason of the first rejection.

        Raises:
            UnavailableError: every attempt failed and no span was stored.
            SpanwiseError: the request was rejected as a whole.
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
