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
pub(crate) struct AttributeKeysRequest {
    #[prost(string, tag = "1")]
    pub(crate) prefix: String,
}

/// Keys of attributes, each with the number of traces that have it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttributeKeysResponse {
    #[prost(string, repeated, tag = "1")]
    pub(crate) keys: Vec<String>,
    #[prost(uint64, repeated, tag = "2")]
    pub(crate) counts: Vec<u64>,
    #[prost(uint64, tag = "3")]
    pub(crate) matched: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) uncounted: u64,
}
