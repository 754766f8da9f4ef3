"""Log lines about received exports: the first trace, and exports without an effect."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import msgspec

from spanwise._engine import Filter
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from datetime import datetime

    from spanwise._engine import CancellationToken, IngestReport
    from spanwise.errors import SpanwiseError
    from spanwise.store_protocol import Store

INTERVAL_SECONDS = 10.0
"""One refusal of each kind is logged in this time. The next line has the number of the others."""
_ADVICE = {
    400: "its exporter is to send OTLP as protobuf or JSON",
    401: 'its exporter sends a token with OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer TOKEN"',
    403: "its token needs the scope `traces:write`",
    404: "OTEL_EXPORTER_OTLP_ENDPOINT is the address without a path; spans are received at `/v1/traces`",
    413: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE makes its batches smaller, `--max-ingest-body-bytes` the limit larger",
    415: "OTEL_EXPORTER_OTLP_PROTOCOL is to be `http/protobuf` or `http/json` here; gRPC has a port of its own",
    503: "exporters send it again",
}
"""The advice about a refusal, by its HTTP status."""
_log = logging.getLogger(__name__)


class _Row(msgspec.Struct, frozen=True):
    name: str
    trace_id: str
    total_spans: int


def name_and_size(store: Store, since: datetime, cancel: CancellationToken) -> str:
    """Returns the name and span count of a trace received since then. Blocks.

    Raises:
        SpanwiseError: see `TraceStore.query`.
    """
    condition = {"op": "GTE", "key": "created_at", "value": since.isoformat()}
    compiled = Filter.compile(msgspec.json.encode(condition))
    page = store.query(queries.runs(compiled, 1, 1, detail="summary"), cancel)
    rows = msgspec.json.decode(page.data, type=list[_Row])
    shown = [f"{row.name}, {row.total_spans} span{'' if row.total_spans == 1 else 's'}" for row in rows]
    return shown[0] if shown else "more of one that is stored"


class ExportLog:
    """Logs the events of exports that an operator should know. Methods may be called from any thread."""

    def __init__(self) -> None:
        """Starts with no trace received."""
        self._has_received = False
        self._logged: set[str] = set()
        self._refused: dict[str, tuple[float, int]] = {}

    def received(self, report: IngestReport) -> bool:
        """Logs rejected spans, and an export without spans.

        Returns:
            True for the first export with a trace, which `show_first` logs.
        """
        if report.rejected_spans:
            self._limited(
                "spans",
                "an export was stored without %d of its spans: %s",
                (report.rejected_spans, report.reason),
            )
        if report.accepted_spans and not self._has_received:
            self._has_received = True
            return True
        if not report.accepted_spans and not report.rejected_spans and "empty" not in self._logged:
            self._logged.add("empty")
            _log.warning("an export contained no spans: the program ended none or sampled them away (logged once)")
        return False

    def show_first(self, shown: str) -> None:
        """Logs the first trace: its name and size, or the error of reading it."""
        _log.info("first trace received: %s", shown)

    def dropped(self, what: str) -> None:
        """Logs once that data of a kind is accepted and dropped."""
        if what not in self._logged:
            self._logged.add(what)
            _log.warning("%s are accepted and dropped (logged once)", what)

    def refused(self, error: SpanwiseError, sender: str) -> None:
        """Logs an export that was refused as a whole, with the reason and the remedy.

        Args:
            error: the reason.
            sender: the sender, for people.
        """
        advice = _ADVICE.get(error.status, "the log has the cause")
        self._limited(error.error_code, "an export of %s was refused: %s; %s", (sender, error, advice))

    def _limited(self, kind: str, message: str, arguments: tuple[object, ...]) -> None:
        now = time.monotonic()
        last, unsaid = self._refused.get(kind, (-INTERVAL_SECONDS, 0))
        if now - last < INTERVAL_SECONDS:
            self._refused[kind] = (last, unsaid + 1)
            return
        self._refused[kind] = (now, 0)
        more = f"; {unsaid} more like it since the last of these lines" if unsaid else ""
        _log.warning(message + "%s", *arguments, more)
