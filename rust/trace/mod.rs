//! Spans -> one trace row; span tree: what is a trace, once its spans are put together?
//!
//! A [`Trace`] is an immutable set of spans. From it come the row that searches decide on
//! ([`row`]), the document that is stored, and the tree that is shown ([`tree`], [`detail`]).
//! What programs call things is known to one table ([`dialect`]).

pub mod detail;
pub mod dialect;
mod extra;
mod json;
mod node;
pub mod node_type;
mod origins;
pub mod row;
pub mod span;
mod steps;
pub mod tree;

use std::sync::Arc;

use bytes::Bytes;

pub use row::TraceRow;
pub use span::Span;

use crate::error::Result;
use crate::otlp::{SpanId, TraceId, wire};

/// The most spans one trace may have.
pub const MAX_SPANS: usize = 100_000;

/// All spans known of one trace, each once.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The trace's id.
    pub trace_id: TraceId,
    /// When its first span was received: microseconds since 1970.
    pub created_at: i64,
    /// The spans in order of their ids.
    spans: Vec<Arc<Span>>,
}

impl Trace {
    /// Returns a trace without spans, first heard of at `created_at` (microseconds since 1970).
    pub fn new(trace_id: TraceId, created_at: i64) -> Self {
        Self { trace_id, created_at, spans: Vec::new() }
    }

    /// Returns the spans in order of their ids.
    pub fn spans(&self) -> &[Arc<Span>] {
        &self.spans
    }

    /// Returns the span with this id, if the trace has it.
    pub fn span(&self, span_id: SpanId) -> Option<&Arc<Span>> {
        let place = self.spans.binary_search_by(|span| span.span_id.cmp(&span_id)).ok()?;
        Some(&self.spans[place])
    }

    /// Returns this trace with `arrivals` added. Of unequal copies of a span one stays
    /// ([`Span::supersedes`]), so sending twice or in another order changes nothing.
    #[must_use]
    pub fn with(&self, arrivals: impl IntoIterator<Item = Arc<Span>>) -> Self {
        let mut newest: Vec<Arc<Span>> = arrivals.into_iter().collect();
        newest.sort_unstable_by(|one, other| {
            let in_order = one.span_id.cmp(&other.span_id);
            // Of one id the copy that stays comes first.
            in_order.then_with(|| other.end.cmp(&one.end)).then_with(|| other.wire.cmp(&one.wire))
        });
        newest.dedup_by_key(|span| span.span_id);
        if self.spans.is_empty() {
            return Self { trace_id: self.trace_id, created_at: self.created_at, spans: newest };
        }
        let mut spans = Vec::with_capacity(self.spans.len() + newest.len());
        let mut arrived = newest.into_iter().peekable();
        for present in &self.spans {
            while let Some(span) = arrived.next_if(|span| span.span_id < present.span_id) {
                spans.push(span);
            }
            match arrived.next_if(|span| span.span_id == present.span_id) {
                Some(span) if span.supersedes(present) => spans.push(span),
                _ => spans.push(present.clone()),
            }
        }
        spans.extend(arrived);
        Self { trace_id: self.trace_id, created_at: self.created_at, spans }
    }

    /// Returns the trace's document: an encoded OTLP `TracesData` message.
    pub fn document(&self) -> Vec<u8> {
        wire::join(self.spans.iter().map(|span| &span.wire))
    }

    /// Returns the trace that `document` holds.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if the document is not what [`Trace::document`] writes.
    pub fn from_document(trace_id: TraceId, created_at: i64, document: Bytes) -> Result<Self> {
        let spans = wire::split(document)?
            .into_iter()
            .map(|wire| Span::from_wire(wire).map(Arc::new))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self::new(trace_id, created_at).with(spans))
    }
}
