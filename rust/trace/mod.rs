//! Builds traces from spans: the row a trace is searched by, its document, and its tree.
//!
//! A [`Trace`] is an immutable set of spans. From it are derived the row that searches read ([`row`]), the document
//! that is stored, and the tree that is shown ([`tree`], [`detail`]). The attribute names that instrumented
//! programs use are listed in one table ([`conventions`]).

mod content;
pub mod conventions;
mod damaged;
pub mod detail;
mod extra;
mod json;
mod messages;
mod node;
pub mod node_type;
mod origins;
pub mod row;
pub mod span;
mod steps;
mod tokens;
pub mod tree;

use std::sync::Arc;

use bytes::Bytes;

pub use damaged::write_damaged;
pub use row::TraceRow;
pub use span::Span;

use crate::error::Result;
use crate::otlp::{SpanId, TraceId, wire};

/// Maximum number of spans of a trace.
pub const MAX_SPANS: usize = 100_000;

/// All spans received for one trace, each once.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The trace's id.
    pub trace_id: TraceId,
    /// When its first span was received, in microseconds since 1970.
    pub created_at: i64,
    /// The spans, ordered by id.
    spans: Vec<Arc<Span>>,
}

impl Trace {
    /// Returns a trace without spans, first received at `created_at` (microseconds since 1970).
    pub fn new(trace_id: TraceId, created_at: i64) -> Self {
        Self { trace_id, created_at, spans: Vec::new() }
    }

    /// Returns the spans, ordered by id.
    pub fn spans(&self) -> &[Arc<Span>] {
        &self.spans
    }

    /// Returns the span with this id, if the trace has it.
    pub fn span(&self, span_id: SpanId) -> Option<&Arc<Span>> {
        let index = self.spans.binary_search_by(|span| span.span_id.cmp(&span_id)).ok()?;
        Some(&self.spans[index])
    }

    /// Returns this trace with `arrivals` added. Of unequal copies of a span one is kept ([`Span::supersedes`]), so
    /// the result does not depend on the order or repetition of arrivals.
    #[must_use]
    pub fn with(&self, arrivals: impl IntoIterator<Item = Arc<Span>>) -> Self {
        let mut newest: Vec<Arc<Span>> = arrivals.into_iter().collect();
        newest.sort_unstable_by(|one, other| {
            let in_order = one.span_id.cmp(&other.span_id);
            // Of copies of one span, the one that is kept comes first.
            in_order.then_with(|| other.end.cmp(&one.end)).then_with(|| other.wire.cmp(&one.wire))
        });
        newest.dedup_by_key(|span| span.span_id);
        if self.spans.is_empty() {
            return Self { trace_id: self.trace_id, created_at: self.created_at, spans: newest };
        }
        let mut spans = Vec::with_capacity(self.spans.len() + newest.len());
        let mut arrived = newest.into_iter().peekable();
        for existing in &self.spans {
            while let Some(span) = arrived.next_if(|span| span.span_id < existing.span_id) {
                spans.push(span);
            }
            match arrived.next_if(|span| span.span_id == existing.span_id) {
                Some(span) if span.supersedes(existing) => spans.push(span),
                _ => spans.push(existing.clone()),
            }
        }
        spans.extend(arrived);
        Self { trace_id: self.trace_id, created_at: self.created_at, spans }
    }

    /// Returns the trace's document: an encoded OTLP `TracesData` message.
    pub fn document(&self) -> Vec<u8> {
        wire::join(self.spans.iter().map(|span| &span.wire))
    }

    /// Returns the trace stored in `document`.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if the document was not written by [`Trace::document`].
    pub fn from_document(trace_id: TraceId, created_at: i64, document: Bytes) -> Result<Self> {
        let spans = wire::split(document)?
            .into_iter()
            .map(|wire| Span::from_wire(wire).map(Arc::new))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self::new(trace_id, created_at).with(spans))
    }
}
