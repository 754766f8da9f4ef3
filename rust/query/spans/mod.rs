//! Pages of spans: the spans that match a condition, of the traces that a filter matches.

mod leaf;
mod merge;
mod walk;

use prost::Message;

pub(super) use merge::SpansMerge;
pub(super) use walk::SpanCounts;

/// Spans as items of a page.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SpansRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) traces: Vec<SpanRange>,
    #[prost(bool, tag = "2")]
    pub(crate) with_matches: bool,
}

/// The matching spans of a trace, from one to before another.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SpanRange {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) trace_id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub(crate) from: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) to: u64,
}
