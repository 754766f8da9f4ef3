//! The committer: the only thread that changes the store.
//!
//! It executes commands in order ([`event_loop`]). Waiting requests become durable with one WAL put, and get
//! their replies after the snapshot with their spans is published ([`group_commit`]). Settled rows of the
//! head are moved to batches with indexes ([`head_index`]). Every other change of the store is one new
//! manifest ([`manifest_commit`]): flushed generations ([`flush`]), merged segments ([`compaction`]),
//! deletions ([`delete`]), bulk loads ([`bulk_load`]) and index objects ([`index_records`]).

mod bulk_load;
mod commit_interval;
mod compaction;
mod compaction_picker;
mod compaction_queue;
mod delete;
mod event_loop;
mod flush;
mod group_commit;
mod head_index;
mod index_records;
mod ingest_rate;
mod manifest_commit;
mod publish;
mod wal_conflict;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;

use crate::error::Error;
use crate::storage::committer::commit_interval::CommitInterval;
use crate::storage::committer::compaction_queue::CompactionQueue;
use crate::storage::committer::ingest_rate::IngestRate;
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::snapshot::published::Published;
use crate::storage::state::claim::{self, Claim};
use crate::storage::state::command::{Command, Reply};
use crate::storage::state::{StoreState, TraceUpdate};
use crate::storage::wal::WalEntry;
use crate::storage::workers::compact::MergeTask;
use crate::storage::workers::flush::FlushTask;
use crate::storage::workers::head_index::HeadIndexTask;
use crate::storage::workers::reclaim::Reclaimer;
use crate::storage::workers::wal_writer::WalWriter;

/// The state of the committer thread.
pub(crate) struct Committer {
    objects: Arc<dyn Objects>,
    options: Options,
    claim: Claim,
    /// The durable state.
    state: StoreState,
    published: Arc<Published>,
    workers: Workers,
    /// The group whose WAL object is being written.
    pending: Option<PendingGroup>,
    commit_interval: CommitInterval,
    ingest_rate: IngestRate,
    /// True while the head indexing thread has a task.
    is_indexing_head: bool,
    /// The earliest time of the next check for settled rows in the head.
    head_index_due: Instant,
    /// True while the flush thread writes the oldest generation.
    is_flushing: bool,
    /// The earliest retry of a failed flush.
    flush_retry_at: Option<Instant>,
    flush_error: Option<Error>,
    compaction: CompactionQueue,
    /// The time since which index objects wait to be recorded.
    index_records_since: Option<Instant>,
    /// Waiting callers of flush, each with the WAL number up to which everything must be flushed.
    flush_waiters: Vec<(u64, Reply<()>)>,
    /// Commands that arrived during an operation that must not be interrupted.
    deferred: VecDeque<Command>,
    /// True if a flush or a merge may have become due.
    may_have_work: bool,
    /// The reason why no more requests are acknowledged.
    stopped: Option<String>,
}

/// The channels to the committer's worker threads.
pub(crate) struct Workers {
    pub(crate) head_indexes: Sender<HeadIndexTask>,
    pub(crate) flushes: Sender<FlushTask>,
    pub(crate) merges: Sender<MergeTask>,
    pub(crate) wal_writer: WalWriter,
    pub(crate) reclaimer: Reclaimer,
}

/// A group whose WAL object is being written.
struct PendingGroup {
    entries: Vec<WalEntry>,
    updates: Vec<TraceUpdate>,
    /// The state after the object is durable.
    state: StoreState,
}

impl Committer {
    /// Returns the committer of a store that was opened as `(claim, state)`, and publishes that state.
    pub(crate) fn new(
        objects: Arc<dyn Objects>,
        options: Options,
        (claim, state): (Claim, StoreState),
        published: Arc<Published>,
        workers: Workers,
    ) -> Self {
        let commit_interval = CommitInterval::new(objects.commit_interval());
        let ingest_rate = IngestRate::new(&options, objects.as_ref());
        let mut committer = Self {
            objects,
            options,
            claim,
            state,
            published,
            workers,
            pending: None,
            commit_interval,
            ingest_rate,
            is_indexing_head: false,
            head_index_due: Instant::now(),
            is_flushing: false,
            flush_retry_at: None,
            flush_error: None,
            compaction: CompactionQueue::default(),
            index_records_since: None,
            flush_waiters: Vec::new(),
            deferred: VecDeque::new(),
            may_have_work: true,
            stopped: None,
        };
        committer.publish();
        committer
    }

    /// Returns the state after the pending group is durable.
    fn newest_state(&self) -> &StoreState {
        self.pending.as_ref().map_or(&self.state, |pending| &pending.state)
    }

    fn index_cache(&self) -> IndexCache {
        IndexCache::of(&self.options)
    }

    /// Returns the reason why spans are rejected now; `None` if they are accepted.
    fn rejection(&self) -> Option<Error> {
        if let Some(reason) = self.stopped.clone().or_else(|| self.published.lease.lost()) {
            return Some(Error::Stopped(reason));
        }
        if self.is_head_full() {
            let (bytes, objects) = self.state.unflushed();
            return Some(Error::Busy(format!(
                "{bytes} bytes in {objects} write-ahead log objects wait to be flushed"
            )));
        }
        self.disk_shortage()
    }

    /// Returns `true` if the unflushed data exceeds the limits in the options.
    fn is_head_full(&self) -> bool {
        let (bytes, objects) = self.state.unflushed();
        bytes > self.options.max_unsealed_bytes
            || objects > self.options.max_unsealed_objects
            || self.state.head_memory() > self.options.max_head_bytes
    }

    /// Returns an error if the disk is too full for more spans. The head is still flushed, so that its WAL
    /// objects can be deleted.
    fn disk_shortage(&self) -> Option<Error> {
        let min_free = self.options.min_free_bytes;
        if min_free == 0 {
            return None;
        }
        match self.objects.free_bytes() {
            Ok(Some(free)) if free < min_free => {
                Some(Error::Busy(format!("the disk has {free} bytes free, expected at least {min_free}")))
            }
            Ok(_) => None,
            Err(error) => Some(Error::Busy(error.to_string())),
        }
    }

    /// Stops acknowledging and answering requests, because the object at `path` belongs to another writer,
    /// which now owns the store. Returns the error with this reason.
    fn stop_superseded(&mut self, path: &str) -> Error {
        let reason = claim::superseded_by(path);
        self.published.lease.lose(&reason);
        self.stop(reason)
    }

    /// Stops acknowledging requests. Returns the error with this reason.
    fn stop(&mut self, reason: String) -> Error {
        self.stopped = Some(reason.clone());
        self.publish_progress();
        let flushes = self.flush_waiters.drain(..).map(|(_, reply)| reply);
        let compactions = self.compaction.manual.drain(..).map(|compaction| compaction.reply);
        for reply in flushes.chain(compactions) {
            let _caller_is_gone = reply.send(Err(Error::Stopped(reason.clone())));
        }
        Error::Stopped(reason)
    }
}
