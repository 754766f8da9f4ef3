//! Looks up one trace, or a part of it, on the only shard that may have it.

use super::wire::{Answered, Asked, AskedTrace, OfTrace, unexpected};
use super::{Found, Gather};
use crate::error::Result;

/// A lookup in one shard.
pub(super) struct LookupGather {
    asked: Option<AskedTrace>,
    found: Option<Vec<u8>>,
}

impl LookupGather {
    /// Looks for `of` in the trace with this id.
    pub(super) fn new(trace_id: &str, of: OfTrace) -> Self {
        Self { asked: Some(AskedTrace { trace_id: trace_id.to_owned(), of: Some(of) }), found: None }
    }
}

impl Gather for LookupGather {
    fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>> {
        Ok(self.asked.take().map(|asked| vec![Some(Asked::Trace(asked))]))
    }

    fn take(&mut self, _shard: usize, answered: Answered) -> Result<()> {
        let Answered::Trace(found) = answered else { return Err(unexpected()) };
        self.found = found.json;
        Ok(())
    }

    fn found(&mut self) -> Result<Found> {
        Ok(Found::Trace(self.found.take()))
    }
}
