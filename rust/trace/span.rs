//! A span in the engine: its ids, its times, and the summary of its attributes.

use std::cmp::Ordering;

use prost::Message as _;

use super::conventions::SpanSummary;
use crate::error::{Error, Result};
use crate::otlp::{SpanId, SpanRef, TraceId, WireSpan, proto};

/// A span with the data that rows and trees need. The full message is only decoded for output.
#[derive(Debug)]
pub struct Span {
    /// The id of its trace.
    pub trace_id: TraceId,
    /// Its own id.
    pub span_id: SpanId,
    /// The parent span; `None` for a root.
    pub parent_id: Option<SpanId>,
    /// Nanoseconds since 1970, as sent.
    pub start: u64,
    /// Nanoseconds since 1970, as sent; 0 if it was not sent.
    pub end: u64,
    /// True if its status is an error, or an attribute reports one.
    pub is_error: bool,
    /// The data from its attributes.
    pub summary: SpanSummary,
    /// The stored bytes.
    pub wire: WireSpan,
}

impl Span {
    /// Returns the span encoded in `wire`.
    ///
    /// # Errors
    /// [`Error::Decode`] if the bytes are not a span with valid ids.
    pub fn from_wire(wire: WireSpan) -> Result<Self> {
        let malformed = |error| Error::Decode(format!("expected a span: {error}"));
        let span = SpanRef::of(&wire.bytes).map_err(malformed)?;
        let (Some(trace_id), Some(span_id)) =
            (TraceId::from_bytes(span.trace_id), SpanId::from_bytes(span.span_id))
        else {
            return Err(Error::Decode("expected a span with a trace id and a span id".into()));
        };
        let summary = SpanSummary::of(&span, wire.origin.scope_name());
        Ok(Self {
            trace_id,
            span_id,
            parent_id: SpanId::from_bytes(span.parent_span_id),
            start: span.start,
            end: span.end,
            is_error: summary.is_failed || span.status == proto::status::StatusCode::Error as i32,
            summary,
            wire,
        })
    }

    /// Returns the decoded message.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stored bytes are damaged.
    pub fn message(&self) -> Result<proto::Span> {
        proto::Span::decode(self.wire.bytes.clone()).map_err(|error| {
            Error::Decode(format!("span {} of trace {}: {error}", self.span_id, self.trace_id))
        })
    }

    /// Returns the end of the span; a missing end counts as the start (`docs/reference/traces.md#duration`).
    pub fn effective_end(&self) -> u64 {
        if self.end == 0 { self.start } else { self.end }
    }

    /// Returns `true` if this copy of a span replaces `other`: the later end wins, then the greater bytes.
    /// The rule is a total order, so the order of arrival does not matter.
    pub fn supersedes(&self, other: &Self) -> bool {
        self.end.cmp(&other.end).then_with(|| self.wire.cmp(&other.wire)) == Ordering::Greater
    }

    /// The order of siblings and roots: start time, then span id.
    pub fn sibling_order(&self, other: &Self) -> Ordering {
        self.start.cmp(&other.start).then_with(|| self.span_id.cmp(&other.span_id))
    }
}
