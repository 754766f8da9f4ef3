//! Counts the keys of attributes among the traces that a filter matches (`docs/reference/api-counts.md#attributes`).

mod finish;
mod leaf;
mod merge;

use prost::Message;

pub use finish::AttributeKeys;
pub(super) use merge::AttributesMerge;
pub use merge::MAX_KEYS;

/// Requests the keys of attributes with a prefix.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct AttributeKeysRequest {
    #[prost(string, tag = "1")]
    pub(in crate::query) prefix: String,
}

/// Keys of attributes, each with the number of traces that have it.
#[derive(Clone, PartialEq, Message)]
pub(in crate::query) struct AttributeKeysResponse {
    #[prost(string, repeated, tag = "1")]
    pub(in crate::query) keys: Vec<String>,
    #[prost(uint64, repeated, tag = "2")]
    pub(in crate::query) counts: Vec<u64>,
    #[prost(uint64, tag = "3")]
    pub(in crate::query) matched: u64,
    #[prost(uint64, tag = "4")]
    pub(in crate::query) uncounted: u64,
}
