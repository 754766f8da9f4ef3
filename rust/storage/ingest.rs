//! Ingest into a store: a request is decoded, made durable by the committer, and reported.

use crate::error::Result;
use crate::ingest::{DecodePermits, RequestFragments, RequestPart, RequestSpans};
use crate::otlp::{DecodedLogs, DecodedRequest};
use crate::storage::state::command::Command;
use crate::storage::state::merge_spans::{GroupedRequest, IngestOutcome};
use crate::storage::store::{StoreInner, TraceStore};
use crate::time::now_micros;

/// What became of the spans of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestReport {
    /// Spans that are durable now.
    pub accepted: u64,
    /// Spans that were rejected.
    pub rejected: u64,
    /// Why the first of them was rejected, or empty.
    pub reason: String,
}

impl IngestReport {
    /// Returns the report of a request once the store has taken what was accepted of it.
    fn after(self, outcome: IngestOutcome) -> Self {
        let IngestOutcome { accepted, rejected, reason } = outcome;
        let reason = if self.reason.is_empty() { reason } else { self.reason };
        Self { accepted, rejected: self.rejected + rejected, reason }
    }
}

/// What became of a request with log records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogIngestReport {
    /// What became of the records that carry content of a span.
    pub stored: IngestReport,
    /// Records that carry none.
    pub dropped: u64,
}

impl TraceStore {
    /// Decodes the body of an OTLP request, stores its spans, and returns once they are durable and searchable.
    /// `content_type` and `content_encoding` are the headers of the request.
    ///
    /// # Errors
    /// As [`crate::otlp::decode`] and [`TraceStore::ingest`].
    pub fn ingest_body(
        &self,
        body: &[u8],
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> Result<IngestReport> {
        let (request, permits) = self.inner.decoder.decode(body, content_type, content_encoding)?;
        self.append(request, Some(permits))
    }

    /// Stores the spans of a decoded request and returns once they are durable and searchable.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`]: nothing was stored, try again later. [`crate::error::Error::Stopped`]: reopen the
    /// store first. [`crate::error::Error::Storage`]: spans belong to a trace that could not be read; nothing was stored.
    /// [`crate::error::Error::Closed`]. Spans of a damaged trace are rejected by themselves.
    pub fn ingest(&self, request: DecodedRequest) -> Result<IngestReport> {
        self.append(RequestSpans::new(now_micros(), request)?, None)
    }

    /// Stores the spans of a request. The permits are released once its bytes count as waiting to be written.
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

    /// Decodes the body of an OTLP request with log records, stores those that carry content of a span, and returns
    /// once they are durable. `content_type` and `content_encoding` are the headers of the request.
    ///
    /// # Errors
    /// As [`crate::otlp::decode_logs`] and [`TraceStore::ingest`].
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

    /// Stores a part of a request that was decoded, checked and split elsewhere, and returns once it is durable and
    /// searchable. `received` is when the request was received there, in microseconds since 1970.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if it is no such part; as [`TraceStore::ingest`].
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

    /// Stores the fragments of a decoded request and returns once they are durable.
    ///
    /// # Errors
    /// As [`TraceStore::ingest`].
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
    /// Makes a request durable. Its permits are released once its bytes count as waiting to be written.
    fn ingest(&self, request: GroupedRequest, permits: Option<DecodePermits<'_>>) -> Result<IngestOutcome> {
        let _waiting = self.admit(request.encoded.len() as u64)?;
        drop(permits);
        self.execute(|reply| Command::Ingest { request, reply })
    }
}
