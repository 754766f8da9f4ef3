//! One span inside the engine: its place in the trace, its times, and what the dialects read from it.

use std::cmp::Ordering;

use prost::Message as _;

use super::dialect::SpanSummary;
use crate::error::{Error, Result};
use crate::otlp::{SpanId, SpanRef, TraceId, WireSpan, proto};

/// A span with the summary that rows and trees need; its full message is decoded again only to print it.
#[derive(Debug)]
pub struct Span {
    /// The trace it belongs to.
    pub trace_id: TraceId,
    /// Its own id.
    pub span_id: SpanId,
    /// The span that caused it; `None` for a root.
    pub parent_id: Option<SpanId>,
    /// Nanoseconds since 1970, as sent.
    pub start: u64,
    /// Nanoseconds since 1970, as sent; 0 if the sender left it out.
    pub end: u64,
    /// Whether its status is an error.
    pub is_error: bool,
    /// What the dialects read from its attributes.
    pub summary: SpanSummary,
    /// The bytes that are stored.
    pub wire: WireSpan,
}

impl Span {
    /// Returns the span that came, or was kept, as `wire`.
    ///
    /// # Errors
    /// [`Error::Decode`] if the bytes are no span with usable ids.
    pub fn from_wire(wire: WireSpan) -> Result<Self> {
        let malformed = |fault| Error::Decode(format!("expected a span: {fault}"));
        let span = SpanRef::of(&wire.bytes).map_err(malformed)?;
        let (Some(trace_id), Some(span_id)) =
            (TraceId::from_bytes(span.trace_id), SpanId::from_bytes(span.span_id))
        else {
            return Err(Error::Decode("expected a span with a trace id and a span id".into()));
        };
        Ok(Self {
            trace_id,
            span_id,
            parent_id: SpanId::from_bytes(span.parent_span_id),
            start: span.start,
            end: span.end,
            is_error: span.status == proto::status::StatusCode::Error as i32,
            summary: SpanSummary::read(&span),
            wire,
        })
    }

    /// Returns the full message.
    ///
    /// # Errors
    /// [`Error::Decode`] if the kept bytes are no span; they were one when they were kept.
    pub fn message(&self) -> Result<proto::Span> {
        proto::Span::decode(self.wire.bytes.clone()).map_err(|fault| {
            Error::Decode(format!("span {} of trace {}: {fault}", self.span_id, self.trace_id))
        })
    }

    /// The end used for reckoning: a missing end counts as the start (design, section 5).
    pub fn effective_end(&self) -> u64 {
        if self.end == 0 { self.start } else { self.end }
    }

    /// Whether this copy of a span replaces `other`: the later end stays, then the greater bytes.
    /// The rule is total, so the order of arrival does not matter.
    pub fn supersedes(&self, other: &Self) -> bool {
        self.end.cmp(&other.end).then_with(|| self.wire.cmp(&other.wire)) == Ordering::Greater
    }

    /// The order of siblings and of roots: start time, then span id.
    pub fn sibling_order(&self, other: &Self) -> Ordering {
        self.start.cmp(&other.start).then_with(|| self.span_id.cmp(&other.span_id))
    }
}
