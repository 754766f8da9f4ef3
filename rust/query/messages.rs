//! The requests to a leaf and its responses.
//!
//! They are protobuf messages, so that leaves may be in other processes. Processes of two versions may exchange messages
//! for a while, so unknown fields are skipped.

use prost::{Message, Oneof};

use crate::error::{Error, Result};
use crate::query::aggregate::{AggregateRequest, AggregateResponse, Values, ValuesRequest};
use crate::query::attributes::{AttributeKeysRequest, AttributeKeysResponse};
use crate::query::facets::{
    CountFacetsRequest, CountFacetsResponse, FacetMemoryRequest, FacetMemoryResponse,
};
use crate::query::keys::{Keys, KeysRequest};
use crate::query::lookup::{LookupRequest, LookupResponse};
use crate::query::runs::{DocumentsRequest, ItemList};
use crate::query::sessions::{
    DigestsRequest, SessionPartsRequest, SessionPartsResponse, Sessions, SessionsRequest,
};
use crate::query::spans::SpansRequest;

/// One request to a leaf.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LeafRequestMessage {
    /// The maximum number of documents per check of documents.
    #[prost(uint64, tag = "1")]
    pub(crate) max_document_checks: u64,
    #[prost(oneof = "LeafRequest", tags = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13")]
    pub(crate) request: Option<LeafRequest>,
}

/// A request to a leaf.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum LeafRequest {
    #[prost(message, tag = "2")]
    Keys(KeysRequest),
    #[prost(message, tag = "3")]
    Documents(DocumentsRequest),
    #[prost(message, tag = "4")]
    Spans(SpansRequest),
    #[prost(message, tag = "5")]
    Sessions(SessionsRequest),
    #[prost(message, tag = "6")]
    SessionParts(SessionPartsRequest),
    #[prost(message, tag = "7")]
    SessionDigests(DigestsRequest),
    #[prost(message, tag = "8")]
    Lookup(LookupRequest),
    #[prost(message, tag = "9")]
    Aggregate(AggregateRequest),
    #[prost(message, tag = "10")]
    Values(ValuesRequest),
    #[prost(message, tag = "11")]
    FacetMemory(FacetMemoryRequest),
    #[prost(message, tag = "12")]
    AttributeKeys(AttributeKeysRequest),
    #[prost(message, tag = "13")]
    Facets(CountFacetsRequest),
}

/// One response of a leaf.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LeafResponseMessage {
    /// The number of documents in each check of documents.
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) checks: Vec<u64>,
    /// The response; `None` if the last check exceeded the maximum.
    #[prost(oneof = "LeafResponse", tags = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub(crate) response: Option<LeafResponse>,
}

/// The response of a leaf to a [`LeafRequest`].
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum LeafResponse {
    #[prost(message, tag = "2")]
    Keys(Keys),
    #[prost(message, tag = "3")]
    Items(ItemList),
    #[prost(message, tag = "4")]
    Sessions(Sessions),
    #[prost(message, tag = "5")]
    SessionParts(SessionPartsResponse),
    #[prost(bytes, tag = "6")]
    SessionDigests(Vec<u8>),
    #[prost(message, tag = "7")]
    Lookup(LookupResponse),
    #[prost(message, tag = "8")]
    Aggregate(AggregateResponse),
    #[prost(message, tag = "9")]
    Values(Values),
    #[prost(message, tag = "10")]
    FacetMemory(FacetMemoryResponse),
    #[prost(message, tag = "11")]
    AttributeKeys(AttributeKeysResponse),
    #[prost(message, tag = "12")]
    Facets(CountFacetsResponse),
}

/// Returns the message in some bytes.
///
/// # Errors
/// [`Error::Busy`] if they are not such a message.
pub(crate) fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M> {
    M::decode(bytes).map_err(|error| Error::Busy(format!("a message between shards cannot be read: {error}")))
}

/// Returns the error of a response that does not belong to the request.
pub(crate) fn unexpected() -> Error {
    Error::Busy("a shard returned the wrong response type".into())
}

/// Returns a number of a message as a size.
pub(crate) fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
