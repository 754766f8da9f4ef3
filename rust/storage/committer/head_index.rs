//! Indexing the head: traces that have not changed for a moment are moved to batches with indexes.
//!
//! A search for a text would otherwise look at each trace of the head, and a flush merges these indexes instead of making them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::storage::committer::Committer;
use crate::storage::head::batch::HeadBatch;
use crate::storage::state::command::HeadIndexer;

/// A trace that has not changed for so long is taken for complete. If spans come all the same, they are found in its new row.
const SETTLED: Duration = Duration::from_millis(200);
/// Traces that take so many bytes of memory are indexed together: a look at each takes some ten milliseconds, and a generation
/// has few such batches.
const BATCH_BYTES: u64 = 8 << 20;
/// How long after a look at what has settled the next one is due.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long the head is left alone after its rows could not be indexed. Their flush tries it again, too.
const RETRY: Duration = Duration::from_secs(60);

impl Committer {
    /// Returns when what has settled in the open generation is to be looked at; `None` if that is too little.
    pub(super) fn next_head_index(&self) -> Option<Instant> {
        let is_idle = !self.is_indexing_head && !self.options.indexes.is_empty();
        let unindexed = self.newest_state().generations.last().map_or(0, |open| open.unindexed_memory);
        (is_idle && unindexed >= BATCH_BYTES).then_some(self.head_index_due)
    }

    /// Hands what has settled in the open generation to the thread that indexes it, if it is due and enough. At a high rate it is
    /// left to be indexed later, as all else.
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

    /// Puts an indexed batch in the place of its rows. Rows that have been sealed or superseded meanwhile are left out.
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
            HeadIndexer::Seal => {}
            HeadIndexer::Caller(reply) => {
                let _caller_is_gone = reply.send(moved);
            }
        }
    }
}
