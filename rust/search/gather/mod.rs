//! One search over several stores, each of which has a part of the traces: its shards.
//!
//! A front door scatters questions and gathers answers, in rounds; each kind of search is a [`Gather`] that says what to ask
//! next, and puts together what was answered. A shard answers all questions about a search from one snapshot, in which it has
//! the [`PinnedSearch`]. Nothing is approximate: what a search over all shards finds are the bytes that a search of one store
//! with all of their traces finds. Questions and answers are messages ([`wire`]), so that whatever can carry bytes can carry
//! them.

mod attributes;
mod digest;
mod lookup;
mod page_cut;
mod pinned;
mod round;
mod runs;
mod sessions;
mod spans;
mod wire;

pub(super) use digest::{digest, read_digests};
pub use pinned::PinnedSearch;
pub use round::{Gathering, encode_filter, filter_of};
pub(super) use wire::{Answered, Asked, AskedFacetMemory, SessionPart, ValueOfTrace, unexpected};

use crate::error::Result;
use crate::search::aggregate::AggregateResult;
use crate::search::attributes::AttributeKeys;
use crate::search::facets::Facets;
use crate::search::page::Page;

/// What a search over all shards found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A page of traces, sessions or spans.
    Page(Page),
    /// One trace, or a part of it, as JSON; `None` if there is no such, or the filter does not match it.
    Trace(Option<Vec<u8>>),
    /// The numbers of an aggregation.
    Aggregate(AggregateResult),
    /// Counted facets.
    Facets(Facets),
    /// Counted keys of attributes.
    AttributeKeys(AttributeKeys),
}

/// A kind of search, as the front door sees it.
pub(super) trait Gather: Send {
    /// Returns what to ask each shard next; `None` once everything is known.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if answers contradict each other, and what is wrong with the search.
    fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>>;

    /// Takes the answer of a shard to what [`Gather::next_round`] asked of it.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if it answers another question, and what is wrong with the search.
    fn take(&mut self, shard: usize, answered: Answered) -> Result<()>;

    /// Returns how much memory all shards together take at most from now on, in bytes, once that is known.
    fn max_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns what was found. Call it once nothing more is asked.
    ///
    /// # Errors
    /// What is wrong with the search.
    fn found(&mut self) -> Result<Found>;
}
