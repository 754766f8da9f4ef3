//! The indexing thread: opens the document indexes of live segments, and builds missing ones. Where indexes
//! are objects, it also writes them.
//!
//! It runs at low priority. A segment with uncompressed documents is merged soon, and waits for the merge. So
//! at a high ingest rate no segment is indexed twice.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::error::{Error, Result};
use crate::priority;
use crate::storage::manifest::IndexRecord;
use crate::storage::objects::Objects;
use crate::storage::options::Indexing;
use crate::storage::segment::Segment;
use crate::storage::snapshot::published::Published;
use crate::storage::state::command::Command;

/// The interval between two checks for new segments.
const INTERVAL: Duration = Duration::from_millis(200);
/// The delay before a failed index build is retried.
const RETRY: Duration = Duration::from_secs(60);
/// The maximum time that a follower waits for index objects of its writer. The writer builds the indexes of a
/// segment anyway and records them at most ten seconds later.
const PATIENCE: Duration = Duration::from_secs(60);
/// Builds the indexes of segments. In a writer, the committer records the written objects. A follower copies
/// the objects, and builds only indexes that its writer does not.
#[derive(Debug, Clone)]
pub(crate) struct IndexMaker {
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) indexing: Indexing,
    pub(crate) published: Arc<Published>,
    /// The channel to the committer; `None` in a follower, which writes no objects.
    pub(crate) commands: Option<Sender<Command>>,
}

impl IndexMaker {
    /// Opens or builds the missing indexes of a segment, unless `is_closing` returns true, or the segment is
    /// merged or removed meanwhile.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`] if a document cannot be read, or an index would be too large.
    pub(crate) fn make(&self, segment: &Arc<Segment>, is_closing: &dyn Fn() -> bool) -> Result<()> {
        let _making = segment.making();
        let (objects, indexing) = (self.objects.as_ref(), &self.indexing);
        let is_done = || is_closing() || segment.is_being_merged() || !is_part(&self.published, segment);
        self.write(&is_done, |_| segment.open_indexes(objects, &indexing.kinds))?;
        if self.waits_for_writer(segment) {
            return Ok(());
        }
        let collected = segment.collect_indexes(indexing, &is_done)?;
        self.write(&is_done, |records| {
            segment.keep_indexes(collected)?;
            match self.commands {
                Some(_) => segment.write_index_objects(objects, &is_done, records),
                None => Ok(()),
            }
        })
    }

    /// Calls `work`, which writes files and objects of a segment. A purge waits for it, so that no files are
    /// written for a segment that the purge has removed.
    fn write(
        &self,
        is_done: &dyn Fn() -> bool,
        work: impl FnOnce(&mut Vec<IndexRecord>) -> Result<()>,
    ) -> Result<()> {
        let mut records = self.published.index_records.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = if is_done() { Err(Error::Cancelled) } else { work(&mut records) };
        drop(records);
        if let Some(commands) = &self.commands {
            // A committer that has ended records nothing. Unnamed objects are deleted when the store is next
            // opened.
            let _ended = commands.send(Command::Indexed);
        }
        outcome
    }

    fn is_needed(&self, segment: &Segment) -> bool {
        // Another writer owns the store and builds its indexes.
        if self.published.lease.lost().is_some() {
            return false;
        }
        let kinds = &self.indexing.kinds;
        if self.waits_for_writer(segment) {
            return segment.awaits(kinds) && segment.awaits_copy(kinds);
        }
        let writes = self.commands.is_some();
        segment.awaits(kinds) || (writes && segment.awaits_index_objects(self.objects.as_ref()))
    }

    /// Returns `true` if a follower waits for its writer to build the missing indexes of a segment, to copy
    /// them.
    fn waits_for_writer(&self, segment: &Segment) -> bool {
        self.commands.is_none() && self.objects.keeps_indexes() && segment.age() < PATIENCE
    }
}

/// Starts the indexing thread. It ends when the other end of `closing` is dropped. It aborts its current
/// index when `is_closing` is set.
pub(crate) fn start(
    maker: IndexMaker,
    closing: Receiver<()>,
    is_closing: Arc<AtomicBool>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || run(maker, &closing, is_closing);
    std::thread::Builder::new().name("spanwise-index".into()).spawn(run)
}

/// The loop of the indexing thread, see [`start`].
pub(crate) fn run(maker: IndexMaker, closing: &Receiver<()>, is_closing: Arc<AtomicBool>) {
    priority::lower();
    let mut indexer = Indexer { maker, is_closing, left_alone: Vec::new() };
    let mut wait = Duration::ZERO;
    while closing.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        wait = INTERVAL;
        indexer.index_all();
    }
}

struct Indexer {
    maker: IndexMaker,
    is_closing: Arc<AtomicBool>,
    /// Segments that could not be indexed, with the time of the failure. They do not block the others.
    left_alone: Vec<(Weak<Segment>, Instant)>,
}

impl Indexer {
    /// Indexes every waiting segment.
    fn index_all(&mut self) {
        self.left_alone.retain(|(_, since)| since.elapsed() < RETRY);
        let published = self.maker.published.clone();
        while let Some(segment) = self.next() {
            let is_closing = || priority::checkpoint(&self.is_closing);
            // If the thread died of a panic, closing the store would fail.
            let index = || self.maker.make(&segment, &is_closing);
            let outcome = catch_unwind(AssertUnwindSafe(index));
            match outcome.unwrap_or_else(|_| Err(Error::storage("segments", "indexing panicked"))) {
                Ok(()) if self.left_alone.is_empty() => published.indexing_error.store(None),
                Ok(()) => {}
                Err(Error::Cancelled) => return,
                Err(error) => {
                    published.indexing_error.store(Some(Arc::new(error.to_string())));
                    self.left_alone.push((Arc::downgrade(&segment), Instant::now()));
                }
            }
        }
    }

    /// Returns the next segment to index: a large one, or otherwise the newest one that is not being merged.
    /// Small segments are merged soon, and their indexes are useful until then.
    fn next(&self) -> Option<Arc<Segment>> {
        let is_left_alone = |segment: &Arc<Segment>| {
            self.left_alone.iter().any(|(own, _)| std::ptr::eq(own.as_ptr(), Arc::as_ptr(segment)))
        };
        let snapshot = self.maker.published.snapshot.load();
        let parts = snapshot.parts().iter().filter_map(|part| part.segment());
        let waiting = parts.filter(|segment| {
            segment.count() > 0
                && !segment.is_being_merged()
                && !is_left_alone(segment)
                && self.maker.is_needed(segment)
        });
        waiting.max_by_key(|segment| (segment.is_large(), segment.start_time(0))).cloned()
    }
}

fn is_part(published: &Published, segment: &Arc<Segment>) -> bool {
    let snapshot = published.snapshot.load();
    snapshot.parts().iter().filter_map(|part| part.segment()).any(|own| Arc::ptr_eq(own, segment))
}
