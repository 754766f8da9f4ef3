//! Ingest into a store: decodes a request, makes it durable through the committer, and reports the result.

use crate::error::Result;
use crate::ingest::{DecodePermits, RequestFragments, RequestPart, RequestSpans};
use crate::otlp::{DecodedLogs, DecodedRequest};
use crate::storage::state::command::Command;
use crate::storage::state::merge_spans::{GroupedRequest, IngestOutcome};
use crate::storage::store::{StoreInner, TraceStore};
use crate::time::now_micros;

/// The result of storing the spans of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestReport {
    /// The number of spans that are durable now.
    pub accepted: u64,
    /// The number of rejected spans.
    pub rejected: u64,
    /// The reason for the first rejection, or empty.
    pub reason: String,
}

impl IngestReport {
    /// Returns the report of a request after the store has accepted its valid part.
    fn after(self, outcome: IngestOutcome) -> Self {
        let IngestOutcome { accepted, rejected, reason } = outcome;
        let reason = if self.reason.is_empty() { reason } else { self.reason };
        Self { accepted, rejected: self.rejected + rejected, reason }
    }
}

/// The result of storing the log records of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogIngestReport {
    /// The result for records that carry the content of a span.
    pub stored: IngestReport,
    /// The number of other records.
    pub dropped: u64,
}

impl TraceStore {
    /// Decodes the body of an OTLP request and stores its spans. Returns after they are durable and
    /// searchable. `content_type` and `content_encoding` are the headers of the request.
    ///
    /// # Errors
    /// The errors of [`crate::otlp::decode`] and [`TraceStore::ingest`].
    pub fn ingest_body(
        &self,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> Result<IngestReport> {
        let (request, permits) = self.inner.decoder.decode(body, content_type, content_encoding)?;
        self.append(request, Some(permits))
    }

    /// Stores the spans of a decoded request. Returns after they are durable and searchable. Spans of a
    /// damaged trace are rejected individually.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`]: nothing was stored, retry later. [`crate::error::Error::Stopped`]:
    /// reopen the store first. [`crate::error::Error::Storage`]: spans belong to a trace that could not be
    /// read; nothing was stored. [`crate::error::Error::Closed`].
    pub fn ingest(&self, request: DecodedRequest) -> Result<IngestReport> {
        self.append(RequestSpans::new(now_micros(), request)?, None)
    }

    /// Stores the spans of a request. The permits are released after its bytes count as waiting to be
    /// written.
    fn append(&self, request: RequestSpans, permits: Option<DecodePermits<'_>>) -> Result<IngestReport> {
        self.inner.expect_open()?;
        let RequestSpans { received, spans, encoded, rejected, reason } = request;
        let report = IngestReport { accepted: 0, rejected, reason };
        if spans.is_empty() {
            return Ok(report);
        }
        let request = GroupedRequest::new(received, spans, Vec::new(), encoded);
        self.inner.ingest(request, permits).map(|outcome| report.after(outcome))
    }

    /// Decodes the body of an OTLP request with log records, and stores the records that carry the content of
    /// a span. Returns after they are durable. `content_type` and `content_encoding` are the headers of the
    /// request.
    ///
    /// # Errors
    /// The errors of [`crate::otlp::decode_logs`] and [`TraceStore::ingest`].
    pub fn ingest_log_body(
        &self,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> Result<LogIngestReport> {
        self.inner.expect_open()?;
        let (request, permits) = self.inner.decoder.decode_logs(body, content_type, content_encoding)?;
        self.append_fragments(request, Some(permits))
    }

    /// Stores a part of a request that was decoded, checked and split by another process. Returns after it is
    /// durable and searchable. `received` is the time when that process received the request, in microseconds
    /// since 1970.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if `part` is malformed; the errors of [`TraceStore::ingest`].
    pub fn ingest_part(&self, received: i64, part: &[u8]) -> Result<IngestReport> {
        self.inner.expect_open()?;
        let (part, permits) = self.inner.decoder.read_part(received, part)?;
        let RequestPart { received, spans, fragments, encoded } = part;
        if spans.is_empty() && fragments.is_empty() {
            return Ok(IngestReport::default());
        }
        let request = GroupedRequest::new(received, spans, fragments, encoded);
        self.inner.ingest(request, Some(permits)).map(|outcome| IngestReport::default().after(outcome))
    }

    /// Stores the fragments of a decoded request. Returns after they are durable.
    ///
    /// # Errors
    /// The errors of [`TraceStore::ingest`].
    pub fn ingest_logs(&self, logs: DecodedLogs) -> Result<LogIngestReport> {
        self.append_fragments(RequestFragments::new(now_micros(), logs), None)
    }

    fn append_fragments(
        &self,
        request: RequestFragments,
        permits: Option<DecodePermits<'_>>,
    ) -> Result<LogIngestReport> {
        self.inner.expect_open()?;
        let RequestFragments { received, fragments, encoded, dropped, rejected, reason } = request;
        let report = IngestReport { accepted: 0, rejected, reason };
        if fragments.is_empty() {
            return Ok(LogIngestReport { stored: report, dropped });
        }
        let request = GroupedRequest::new(received, Vec::new(), fragments, encoded);
        let stored = self.inner.ingest(request, permits).map(|outcome| report.after(outcome))?;
        Ok(LogIngestReport { stored, dropped })
    }
}

impl StoreInner {
    /// Makes a request durable. Its permits are released after its bytes count as waiting to be written.
    fn ingest(&self, request: GroupedRequest, permits: Option<DecodePermits<'_>>) -> Result<IngestOutcome> {
        let _waiting = self.admit(request.encoded.len() as u64)?;
        drop(permits);
        self.execute(|reply| Command::Ingest { request, reply })
    }
}
