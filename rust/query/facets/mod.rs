//! Counts the values of text fields among the traces that a filter matches (`docs/reference/api-counts.md#facets`).
//!
//! Every part counts by its own codes, in parallel. If all rows of a segment are selected, its index has the number of
//! rows of each code. Otherwise rows are counted by code or codes by their rows, depending on the number of steps.
//! The counts of values that several parts have are added by their ordinals
//! ([`crate::index::ordinals::SharedValues`]), so only the returned values are compared as texts. A single leaf returns
//! its most frequent values; several leaves return all values in order.

mod column;
mod finish;
mod head;
mod leaf;
mod merge;
mod plan;
mod request;
mod segment;
mod tally;
mod top;

use prost::Message;
use serde::Serialize;

pub(super) use merge::FacetsMerge;
pub use request::{FacetRequest, MAX_FACET_VALUES};
pub(super) use top::Top;

/// The counted facets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facets {
    /// A JSON object with one member per field: the most frequent values with their counts, the number of distinct
    /// values, the number of traces without a value, and whether there are more values.
    pub data: Vec<u8>,
    /// The number of traces that the filter matches.
    pub matched: u64,
    /// The fields whose conditions still apply to their own counts, because they are combined with other fields.
    pub not_excluded: Vec<&'static str>,
}

/// Requests the facets of one store.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CountFacetsRequest {
    /// The keys of the fields.
    #[prost(string, repeated, tag = "1")]
    pub(crate) fields: Vec<String>,
    /// The maximum number of values per field.
    #[prost(uint64, tag = "2")]
    pub(crate) limit: u64,
    /// The key of a field whose values are restricted to a prefix.
    #[prost(string, optional, tag = "3")]
    pub(crate) prefix_field: Option<String>,
    #[prost(string, tag = "4")]
    pub(crate) prefix: String,
    #[prost(bool, tag = "5")]
    pub(crate) exclude_own: bool,
    /// True to return only the memory that counting takes.
    #[prost(bool, tag = "6")]
    pub(crate) is_estimate: bool,
}

/// The facets of one store.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CountFacetsResponse {
    /// An upper bound of the memory that counting takes, in bytes.
    #[prost(uint64, tag = "1")]
    pub(crate) bytes: u64,
    /// The number of traces that the whole filter matches.
    #[prost(uint64, tag = "2")]
    pub(crate) matched: u64,
    #[prost(message, repeated, tag = "3")]
    pub(crate) facets: Vec<Facet>,
}

/// The counted values of one field.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct Facet {
    /// The key of the field.
    #[serde(skip)]
    #[prost(string, tag = "1")]
    pub(crate) field: String,
    /// The most frequent values; equally frequent values ascend.
    #[prost(message, repeated, tag = "2")]
    pub(crate) values: Vec<ValueCount>,
    /// The number of distinct values.
    #[prost(uint64, tag = "3")]
    pub(crate) distinct: u64,
    /// The number of traces without a value.
    #[prost(uint64, tag = "4")]
    pub(crate) missing: u64,
    /// True if there are more values.
    #[prost(bool, tag = "5")]
    pub(crate) truncated: bool,
}

/// A value with the number of traces that have it.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct ValueCount {
    #[prost(string, tag = "1")]
    pub(crate) value: String,
    #[prost(uint64, tag = "2")]
    pub(crate) count: u64,
}

impl Facet {
    fn new<'v>(
        field: &str,
        values: impl Iterator<Item = (u64, &'v [u8])>,
        distinct: u64,
        missing: u64,
    ) -> Self {
        let value = |(count, value): (u64, &[u8])| ValueCount {
            value: String::from_utf8_lossy(value).into_owned(),
            count,
        };
        let values: Vec<ValueCount> = values.map(value).collect();
        let truncated = distinct > values.len() as u64;
        Self { field: field.to_owned(), values, distinct, missing, truncated }
    }
}

/// Requests the memory that counting the values of fields takes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FacetMemoryRequest {
    /// The keys of the fields.
    #[prost(string, repeated, tag = "1")]
    pub(crate) fields: Vec<String>,
}

/// The memory in bytes, and the number of traces that the whole filter matches.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FacetMemoryResponse {
    #[prost(uint64, tag = "1")]
    pub(crate) bytes: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) matched: u64,
}
