//! Lookups of one trace, one span, or a part of one value.

mod leaf;
mod merge;

use prost::{Message, Oneof};

pub(super) use merge::LookupMerge;

/// Requests a trace, one of its spans, or a part of one value.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LookupRequest {
    /// The id of the trace in hexadecimal digits.
    #[prost(string, tag = "1")]
    pub(crate) trace_id: String,
    #[prost(oneof = "LookupPart", tags = "2, 3, 4")]
    pub(crate) part: Option<LookupPart>,
}

/// The requested part of a trace.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum LookupPart {
    #[prost(message, tag = "2")]
    Whole(WholeTrace),
    #[prost(message, tag = "3")]
    Span(OneSpan),
    #[prost(message, tag = "4")]
    Value(OneValue),
}

/// The whole trace.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WholeTrace {
    #[prost(string, tag = "1")]
    pub(crate) detail: String,
    /// True if its document is damaged, and only its row is read.
    #[prost(bool, tag = "2")]
    pub(crate) is_damaged: bool,
}

/// One span.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OneSpan {
    #[prost(string, tag = "1")]
    pub(crate) span_id: String,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) max_bytes: Option<u64>,
}

/// A part of a value of a span.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OneValue {
    #[prost(string, tag = "1")]
    pub(crate) span_id: String,
    #[prost(string, tag = "2")]
    pub(crate) path: String,
    #[prost(uint64, tag = "3")]
    pub(crate) from: u64,
    #[prost(uint64, optional, tag = "4")]
    pub(crate) max_bytes: Option<u64>,
}

/// The requested JSON; absent if it does not exist or the filter does not match the trace.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LookupResponse {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) json: Option<Vec<u8>>,
}
