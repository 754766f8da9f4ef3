//! Builds traces from spans: the row for searches, the document, and the tree.
//!
//! A [`Trace`] is an immutable set of spans and fragments of spans. Three things are derived from it: the row
//! for searches ([`row`]), the stored document, and the displayed tree ([`tree`], [`detail`], [`skeleton`]).
//! One table lists the attribute names of instrumented programs ([`conventions`]).

mod content;
pub mod conventions;
pub mod cost;
mod damaged;
pub mod detail;
mod extra;
mod fragments;
mod json;
mod messages;
mod node;
pub mod node_type;
mod origins;
pub mod row;
pub mod trace_columns;
pub mod span;
mod steps;
mod sums;
pub mod tree;
pub mod values;
pub mod view;

use std::sync::Arc;

use bytes::Bytes;

pub use damaged::write_damaged;
pub use row::TraceRow;
pub use span::Span;

use crate::error::Result;
use crate::otlp::fragment::{append_fragments, fragments_of};
use crate::otlp::{Fragment, SpanId, TraceId, wire};

/// The maximum number of spans in a trace.
pub const MAX_SPANS: usize = 100_000;
/// The maximum number of fragments in a trace.
pub const MAX_FRAGMENTS: usize = 100_000;

/// All spans and fragments received for one trace, each once. Code that reads a span with its events must use
/// the [`Trace::assembled`] trace.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The trace's id.
    pub trace_id: TraceId,
    /// The time when its first span was received, in microseconds since 1970.
    pub created_at: i64,
    /// The spans, ordered by id.
    spans: Vec<Arc<Span>>,
    /// The fragments, ordered by span, time and content.
    fragments: Vec<Fragment>,
}

impl Trace {
    /// Returns a trace without spans, first received at `created_at` (microseconds since 1970).
    pub fn new(trace_id: TraceId, created_at: i64) -> Self {
        Self { trace_id, created_at, spans: Vec::new(), fragments: Vec::new() }
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

    /// Returns this trace with `arrivals` added. One of several unequal copies of a span is kept
    /// ([`Span::supersedes`]), so the result does not depend on the order or repetition of arrivals.
    #[must_use]
    pub fn with(&self, arrivals: impl IntoIterator<Item = Arc<Span>>) -> Self {
        let mut newest: Vec<Arc<Span>> = arrivals.into_iter().collect();
        newest.sort_unstable_by(|one, other| {
            let in_order = one.span_id.cmp(&other.span_id);
            // Among the copies of one span, the kept one comes first.
            in_order.then_with(|| other.end.cmp(&one.end)).then_with(|| other.wire.cmp(&one.wire))
        });
        newest.dedup_by_key(|span| span.span_id);
        if self.spans.is_empty() {
            return self.with_spans(newest);
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
        self.with_spans(spans)
    }

    fn with_spans(&self, spans: Vec<Arc<Span>>) -> Self {
        let Self { trace_id, created_at, fragments, .. } = self;
        Self { trace_id: *trace_id, created_at: *created_at, spans, fragments: fragments.clone() }
    }

    /// Returns the trace's document: an encoded OTLP `TracesData` message, with the fragments in a field of their own.
    pub fn document(&self) -> Vec<u8> {
        let mut document = wire::join(self.spans.iter().map(|span| &span.wire));
        append_fragments(&mut document, &self.fragments);
        document
    }

    /// Returns the trace stored in `document`.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if the document was not written by [`Trace::document`].
    pub fn from_document(trace_id: TraceId, created_at: i64, document: Bytes) -> Result<Self> {
        let fragments = fragments_of(&document)?;
        let spans = wire::split(document)?
            .into_iter()
            .map(|wire| Span::from_wire(wire).map(Arc::new))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self::new(trace_id, created_at).with(spans).with_fragments(fragments))
    }
}
