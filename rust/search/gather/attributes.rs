//! Gathers the keys of attributes: every shard sends all of its keys.

use super::wire::{Answered, Asked, AskedAttributeKeys, unexpected};
use super::{Found, Gather};
use crate::error::Result;
use crate::search::attributes::{CountedKeys, check_limit};

/// A count of the keys of attributes.
pub(super) struct AttributeGather {
    shards: usize,
    asked: Option<AskedAttributeKeys>,
    limit: usize,
    counted: CountedKeys,
}

impl AttributeGather {
    /// Counts the keys that begin with `prefix`, for the `limit` most frequent ones.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] for another limit than [`crate::search::attribute_keys`] takes.
    pub(super) fn new(shards: usize, prefix: &str, limit: usize) -> Result<Self> {
        check_limit(limit)?;
        let asked = Some(AskedAttributeKeys { prefix: prefix.to_owned() });
        Ok(Self { shards, asked, limit, counted: CountedKeys::default() })
    }
}

impl Gather for AttributeGather {
    fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>> {
        Ok(self.asked.take().map(|asked| vec![Some(Asked::AttributeKeys(asked)); self.shards]))
    }

    fn take(&mut self, _shard: usize, answered: Answered) -> Result<()> {
        let Answered::AttributeKeys(answer) = answered else { return Err(unexpected()) };
        let counts = answer.keys.into_iter().zip(answer.counts);
        self.counted.add(answer.matched, answer.uncounted, counts);
        Ok(())
    }

    fn found(&mut self) -> Result<Found> {
        let counted = std::mem::take(&mut self.counted);
        Ok(Found::AttributeKeys(counted.most_frequent(self.limit)?))
    }
}
