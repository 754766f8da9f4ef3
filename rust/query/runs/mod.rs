//! Pages of runs: the traces that a filter matches, in the order of a request.

mod leaf;
mod merge;

use prost::Message;

pub(super) use merge::{Documents, RunsMerge};

/// Requests traces as items of a page.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DocumentsRequest {
    /// Their ids, 16 bytes each.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) trace_ids: Vec<u8>,
    /// The level of detail.
    #[prost(string, tag = "2")]
    pub(crate) detail: String,
    #[prost(bool, tag = "3")]
    pub(crate) with_matches: bool,
}

/// Items in the order of the request. For a request for traces, each item is a JSON object. For a request for spans,
/// each item has the spans of one trace, joined with commas. It is empty for a damaged trace.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ItemList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(crate) items: Vec<Vec<u8>>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) damage: Vec<String>,
}
