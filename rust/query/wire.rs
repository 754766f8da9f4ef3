//! Encodes queries, requests and responses for leaves in other processes.

use std::sync::Arc;

use prost::Message;

use crate::caller;
use crate::error::{Error, Result};
use crate::filter::{Filter, SpanFilter};
use crate::query::aggregate::Aggregation;
use crate::query::cancellation::CancellationToken;
use crate::query::leaf::{LeafCache, LeafQuery, SnapshotLeaf};
use crate::query::messages::{LeafRequestMessage, LeafResponseMessage, decode, size, unexpected};
use crate::storage::Snapshot;

/// The part of a query that every leaf needs.
#[derive(Clone, PartialEq, Message)]
struct QueryMessage {
    /// The filter without its restrictions, as JSON.
    #[prost(string, tag = "1")]
    filter: String,
    /// The restrictions of the filter, which are evaluated first.
    #[prost(message, repeated, tag = "2")]
    restrictions: Vec<Restriction>,
    /// The condition on spans as JSON, if the rows of the query are spans.
    #[prost(string, optional, tag = "3")]
    spans: Option<String>,
    /// The body of an aggregation, as JSON.
    #[prost(bytes = "vec", optional, tag = "4")]
    aggregation: Option<Vec<u8>>,
    /// The caller whose quota the cached results count against.
    #[prost(string, tag = "5")]
    caller: String,
}

/// A field with its required value.
#[derive(Clone, PartialEq, Message)]
struct Restriction {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// A leaf that responds to messages. It keeps the snapshot, so that all responses describe one state.
pub struct PinnedLeaf {
    snapshot: Arc<Snapshot>,
    query: LeafQuery,
    cache: LeafCache,
}

impl PinnedLeaf {
    /// Pins a snapshot for the query that [`super::Root::query`] describes.
    ///
    /// # Errors
    /// [`Error::Busy`] if the message cannot be decoded; [`Error::Filter`].
    pub fn new(snapshot: Arc<Snapshot>, query: &[u8]) -> Result<Self> {
        let query = decode::<QueryMessage>(query)?.compile()?;
        Ok(Self { snapshot, query, cache: LeafCache::for_rounds() })
    }

    /// Returns the pinned snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the response to one request of a [`super::Root`]. Runs in the turns of the query's caller.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Busy`] if the message cannot be decoded; the errors of the query and the store.
    pub fn respond(&self, message: &[u8], cancel: &CancellationToken) -> Result<Vec<u8>> {
        caller::serve(self.query.filter.caller());
        let LeafRequestMessage { max_document_checks, request } = decode(message)?;
        let cancel = cancel.with_max_document_checks(size(max_document_checks));
        let leaf = SnapshotLeaf::new(&self.snapshot, &self.query, &self.cache);
        let response = match leaf.respond(request.ok_or_else(unexpected)?, &cancel) {
            Ok(response) => Some(response),
            Err(Error::TooLarge(_)) if cancel.checks().1 => None,
            Err(error) => return Err(error),
        };
        let checks = cancel.checks().0.into_iter().map(|documents| documents as u64).collect();
        Ok(LeafResponseMessage { checks, response }.encode_to_vec())
    }
}

/// Returns a filter and its restrictions as a message for [`decode_filter`].
pub fn encode_filter(filter: &Filter) -> Vec<u8> {
    QueryMessage::of_filter(filter).encode_to_vec()
}

/// Returns the filter in a message of [`encode_filter`].
///
/// # Errors
/// [`Error::Busy`] if it cannot be decoded; [`Error::Filter`].
pub fn decode_filter(message: &[u8]) -> Result<Filter> {
    decode::<QueryMessage>(message)?.filter()
}

/// Returns the query of a leaf as a message for [`PinnedLeaf::new`].
pub(crate) fn encode_query(query: &LeafQuery) -> Vec<u8> {
    let message = match &query.aggregation {
        Some(aggregation) => {
            let (body, restrictions) = aggregation.source();
            QueryMessage {
                aggregation: Some(body.to_vec()),
                restrictions: restrictions_of(restrictions),
                caller: aggregation.caller().to_owned(),
                ..QueryMessage::of_filter(&Filter::all())
            }
        }
        None => QueryMessage::of_filter(&query.filter),
    };
    QueryMessage { spans: query.spans.as_ref().map(SpanFilter::canonical), ..message }.encode_to_vec()
}

impl QueryMessage {
    fn of_filter(filter: &Filter) -> Self {
        let caller = filter.caller().to_owned();
        let (filter, restrictions) = filter.unrestricted();
        Self { filter, restrictions: restrictions_of(restrictions), spans: None, aggregation: None, caller }
    }

    fn filter(&self) -> Result<Filter> {
        let filter = Filter::compile(self.filter.as_bytes())?.for_tenant(&self.caller);
        let mut restrictions = self.restrictions.iter();
        Ok(restrictions.try_fold(filter, |filter, own| filter.restrict(&own.field, &own.value))?)
    }

    fn compile(&self) -> Result<LeafQuery> {
        let spans = self.spans.as_ref();
        let spans = spans.map(|spans| SpanFilter::compile(spans.as_bytes())).transpose()?;
        let aggregation = self.aggregation.as_ref().map(|body| {
            let mut restrictions = self.restrictions.iter();
            let aggregation = Aggregation::compile(body)?.for_tenant(&self.caller);
            restrictions.try_fold(aggregation, |own, by| own.restrict(&by.field, &by.value))
        });
        Ok(match (spans, aggregation.transpose()?) {
            (_, Some(aggregation)) => LeafQuery::of_aggregation(aggregation),
            (Some(spans), None) => LeafQuery::of_spans(self.filter()?, spans),
            (None, None) => LeafQuery::new(self.filter()?),
        })
    }
}

fn restrictions_of(restrictions: &[(String, String)]) -> Vec<Restriction> {
    let restriction =
        |(field, value): &(String, String)| Restriction { field: field.clone(), value: value.clone() };
    restrictions.iter().map(restriction).collect()
}
