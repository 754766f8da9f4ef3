//! How the root of a query merges the responses of its leaves.

use crate::error::Result;
use crate::query::aggregate::AggregateResult;
use crate::query::attributes::AttributeKeys;
use crate::query::facets::Facets;
use crate::query::messages::{LeafRequest, LeafResponse};
use crate::query::page::Page;

/// The response to a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// A page of traces, sessions or spans.
    Page(Page),
    /// One trace, or a part of it, as JSON; `None` if it does not exist or the filter does not match it.
    Trace(Option<Vec<u8>>),
    /// The numbers of an aggregation.
    Aggregate(AggregateResult),
    /// Counted facets.
    Facets(Facets),
    /// Counted attribute keys.
    AttributeKeys(AttributeKeys),
}

/// One kind of query at the root: which requests its leaves get, and how their responses become one.
pub(crate) trait Merge: Send {
    /// Returns the next request to each leaf, `None` for leaves without one; `None` once all responses are known.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if responses contradict each other; the errors of the query.
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>>;

    /// Adds the response of a leaf to its request of this round.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if it does not belong to the request; the errors of the query.
    fn add(&mut self, leaf: usize, response: LeafResponse) -> Result<()>;

    /// Returns the maximum memory of all leaves together from now on, in bytes, once it is known.
    fn max_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the response to the query. Called after the last round.
    ///
    /// # Errors
    /// The errors of the query.
    fn finish(&mut self) -> Result<Response>;
}
