//! Pages of spans: the spans that match a condition, of the traces that a filter matches.

mod leaf;
mod merge;
mod walk;

use prost::Message;

pub(super) use merge::SpansMerge;
pub(super) use walk::SpanCounts;

/// Spans as items of a page.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct SpansRequest {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::query) traces: Vec<SpanRange>,
    #[prost(bool, tag = "2")]
    pub(in crate::query) with_matches: bool,
}

/// The matching spans of a trace, from one to before another.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct SpanRange {
    #[prost(bytes = "vec", tag = "1")]
    pub(in crate::query) trace_id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub(in crate::query) from: u64,
    #[prost(uint64, tag = "3")]
    pub(in crate::query) to: u64,
}
