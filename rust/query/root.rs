//! The root of a query: sends requests to its leaves in rounds, and merges their responses.
//!
//! A single store is a root over one leaf in this process. Several leaves give the same response, byte for byte, as
//! one store with all of their traces. All leaves together share one limit on checked documents.

use std::sync::Arc;

use prost::Message as _;

use super::cancellation::{CancellationToken, MAX_DOCUMENT_CHECKS, too_many_checks};
use super::leaf::{LeafCache, LeafQuery, SnapshotLeaf};
use super::merge::{Merge, Response};
use super::messages::{LeafRequest, LeafRequestMessage, LeafResponseMessage, decode};
use super::wire::encode_query;
use crate::error::{Error, Result};
use crate::storage::Snapshot;

/// A query over its leaves.
pub struct Root {
    query: Arc<LeafQuery>,
    leaves: usize,
    merge: Box<dyn Merge>,
    /// The requests of this round that have no response yet.
    pending: Vec<Option<LeafRequest>>,
    /// The last response of every leaf in this round.
    responses: Vec<Option<LeafResponseMessage>>,
}

impl Root {
    pub(super) fn new(query: Arc<LeafQuery>, leaves: usize, merge: impl Merge + 'static) -> Self {
        Self { query, leaves, merge: Box::new(merge), pending: Vec::new(), responses: Vec::new() }
    }

    /// Returns the response of one store in this process. `reserve` is called with the maximum memory of the query in
    /// bytes, before it is used, if the query needs a large amount.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; the errors of `reserve`, the query and the store.
    pub(super) fn run(
        mut self,
        snapshot: &Snapshot,
        reserve: &dyn Fn(u64) -> Result<()>,
        cancel: &CancellationToken,
    ) -> Result<Response> {
        let cache = LeafCache::default();
        let leaf = SnapshotLeaf::new(snapshot, &self.query, &cache);
        let mut is_reserved = false;
        while let Some(requests) = self.merge.next_round()? {
            for request in requests.into_iter().flatten() {
                self.merge.add(0, leaf.respond(request, cancel)?)?;
            }
            if let Some(bytes) = self.merge.max_bytes().filter(|_| !std::mem::replace(&mut is_reserved, true))
            {
                reserve(bytes)?;
            }
        }
        self.merge.finish()
    }

    /// Returns the description of the query for [`super::PinnedLeaf::new`].
    pub fn query(&self) -> Vec<u8> {
        encode_query(&self.query)
    }

    /// Returns the next message to every leaf, `None` for leaves without a request; `None` once the query is
    /// finished.
    ///
    /// # Errors
    /// [`Error::Busy`] if responses contradict each other; the errors of the query.
    pub fn requests(&mut self) -> Result<Option<Vec<Option<Vec<u8>>>>> {
        let mut max_document_checks = MAX_DOCUMENT_CHECKS;
        if self.pending.iter().all(Option::is_none) {
            let Some(requests) = self.merge.next_round()? else { return Ok(None) };
            self.responses = vec![None; requests.len()];
            self.pending = requests;
            max_document_checks = (MAX_DOCUMENT_CHECKS / self.leaves.max(1)).max(1);
        }
        let message = |request: &Option<LeafRequest>| {
            let request = Some(request.clone()?);
            Some(
                LeafRequestMessage { max_document_checks: max_document_checks as u64, request }
                    .encode_to_vec(),
            )
        };
        Ok(Some(self.pending.iter().map(message).collect()))
    }

    /// Adds the responses to [`Root::requests`], in that order.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if all leaves together would check too many documents; [`Error::Busy`] if a response is
    /// missing or does not belong to its request; the errors of the query.
    pub fn add(&mut self, responses: &[Option<Vec<u8>>]) -> Result<()> {
        for (leaf, pending) in self.pending.iter_mut().enumerate().filter(|(_, pending)| pending.is_some()) {
            let Some(Some(response)) = responses.get(leaf) else {
                return Err(Error::Busy("a shard did not respond".into()));
            };
            let response: LeafResponseMessage = decode(response)?;
            if response.response.is_some() {
                *pending = None;
            }
            self.responses[leaf] = Some(response);
        }
        self.check_document_limit()?;
        if self.pending.iter().any(Option::is_some) {
            // These leaves may exceed an equal quota, because the others check fewer documents.
            return Ok(());
        }
        for (leaf, response) in std::mem::take(&mut self.responses).into_iter().enumerate() {
            if let Some(response) = response.and_then(|message| message.response) {
                self.merge.add(leaf, response)?;
            }
        }
        Ok(())
    }

    fn check_document_limit(&self) -> Result<()> {
        let checks = || self.responses.iter().flatten().map(|response| &response.checks);
        let most = checks().map(Vec::len).max().unwrap_or_default();
        for stage in 0..most {
            let documents: u64 = checks().filter_map(|checks| checks.get(stage)).sum();
            let documents = usize::try_from(documents).unwrap_or(usize::MAX);
            if documents > MAX_DOCUMENT_CHECKS {
                return Err(too_many_checks(documents));
            }
        }
        Ok(())
    }

    /// Returns the maximum memory of all leaves together from now on, in bytes, once it is known.
    pub fn max_bytes(&self) -> Option<u64> {
        self.merge.max_bytes()
    }

    /// Returns the response. Call it once [`Root::requests`] returns `None`.
    ///
    /// # Errors
    /// The errors of the query.
    pub fn finish(&mut self) -> Result<Response> {
        self.merge.finish()
    }
}
