//! Adds up the attribute keys of all leaves.

use std::collections::HashMap;

use ahash::RandomState;

use super::AttributeKeysRequest;
use super::finish::most_frequent;
use crate::error::{Error, Result};
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};

/// The maximum number of keys in a response.
pub const MAX_KEYS: usize = 1_000;

pub(crate) struct AttributesMerge {
    leaves: usize,
    request: Option<AttributeKeysRequest>,
    limit: usize,
    matched: u64,
    uncounted: u64,
    counts: HashMap<String, u64, RandomState>,
}

impl AttributesMerge {
    /// Starts to count the keys with a prefix and to return the `limit` most frequent ones.
    ///
    /// # Errors
    /// [`Error::Options`] if `limit` is not in 1 to [`MAX_KEYS`].
    pub(crate) fn new(leaves: usize, prefix: String, limit: usize) -> Result<Self> {
        if !(1..=MAX_KEYS).contains(&limit) {
            return Err(Error::Options(format!("expected a limit from 1 to {MAX_KEYS}, got {limit}")));
        }
        let request = Some(AttributeKeysRequest { prefix });
        Ok(Self { leaves, request, limit, matched: 0, uncounted: 0, counts: HashMap::default() })
    }
}

impl Merge for AttributesMerge {
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        let request = self.request.take();
        Ok(request.map(|request| vec![Some(LeafRequest::AttributeKeys(request)); self.leaves]))
    }

    fn add(&mut self, _leaf: usize, response: LeafResponse) -> Result<()> {
        let LeafResponse::AttributeKeys(response) = response else { return Err(unexpected()) };
        self.matched += response.matched;
        self.uncounted += response.uncounted;
        for (key, count) in response.keys.into_iter().zip(response.counts) {
            *self.counts.entry(key).or_default() += count;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Response> {
        let (data, distinct) = most_frequent(std::mem::take(&mut self.counts), self.limit)?;
        let (matched, uncounted) = (self.matched, self.uncounted);
        Ok(Response::AttributeKeys(super::AttributeKeys { data, distinct, matched, uncounted }))
    }
}
