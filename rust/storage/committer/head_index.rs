//! Indexing the head: moves traces that have settled to batches with indexes.
//!
//! Otherwise a text search would check the document of each trace in the head. A flush merges these indexes
//! instead of building them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::storage::committer::Committer;
use crate::storage::head::batch::HeadBatch;
use crate::storage::state::command::HeadIndexer;

/// The time without changes after which a trace counts as complete. Later spans move the trace to a new row,
/// where searches find them.
const SETTLED: Duration = Duration::from_millis(200);
/// The memory of a batch in bytes. Checking its documents takes about ten milliseconds, and a generation has
/// only a few batches.
const BATCH_BYTES: u64 = 8 << 20;
/// The delay between two checks for settled traces.
const INTERVAL: Duration = Duration::from_millis(200);
/// The delay after an indexing error. The flush also builds the indexes.
const RETRY: Duration = Duration::from_secs(60);

impl Committer {
    /// Returns the time of the next check for settled traces; `None` if the open generation has too few rows.
    pub(super) fn next_head_index(&self) -> Option<Instant> {
        let is_idle = !self.is_indexing_head && !self.options.indexes.is_empty();
        let unindexed = self.newest_state().generations.last().map_or(0, |open| open.unindexed_memory);
        (is_idle && unindexed >= BATCH_BYTES).then_some(self.head_index_due)
    }

    /// Sends the settled rows of the open generation to the indexing thread if they are due and enough. At a
    /// high ingest rate all indexing is deferred.
    pub(super) fn index_head(&mut self) {
        let now = Instant::now();
        if self.next_head_index().is_none_or(|due| due > now) {
            return;
        }
        self.head_index_due = now + INTERVAL;
        if self.ingest_rate.high_until().is_some() {
            return;
        }
        let Some(since) = now.checked_sub(SETTLED) else { return };
        let settled = self.state.open_generation().unindexed_since(since);
        if settled.iter().map(|entry| entry.memory()).sum::<u64>() >= BATCH_BYTES {
            self.is_indexing_head = self.workers.head_indexes.send(settled).is_ok();
            if !self.is_indexing_head {
                self.stop("the thread that indexes the head has died".into());
            }
        }
    }

    /// Replaces rows by an indexed batch. Rows that have been flushed or superseded meanwhile are skipped.
    pub(super) fn finish_head_index(&mut self, indexed: Result<Arc<HeadBatch>>, by: HeadIndexer) {
        let moved = indexed.map(|indexed| {
            if self.state.generations.iter_mut().any(|generation| generation.move_to(&indexed)) {
                self.publish();
            }
        });
        match by {
            HeadIndexer::Thread => {
                self.is_indexing_head = false;
                if moved.is_err() {
                    self.head_index_due = Instant::now() + RETRY;
                }
            }
            HeadIndexer::Flush => {}
            HeadIndexer::Caller(reply) => {
                let _caller_is_gone = reply.send(moved);
            }
        }
    }
}
