//! The indexing thread: makes the indexes of documents of segments that are part of the store.
//!
//! It takes what other threads leave of the processor. A segment whose documents are to be compressed is merged soon, and
//! waits for that: while much comes in, nothing is indexed that would be indexed again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::error::Error;
use crate::storage::options::Indexing;
use crate::storage::priority;
use crate::storage::segment::Segment;
use crate::storage::snapshot::published::Published;

/// How often new segments are looked for.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long a segment whose indexes could not be made is left alone.
const RETRY: Duration = Duration::from_secs(60);

/// Starts the indexing thread. It ends when the other end of `closing` is dropped; once `is_closing` is set it abandons
/// what it makes.
pub(crate) fn start(
    indexing: Indexing,
    published: Arc<Published>,
    closing: Receiver<()>,
    is_closing: Arc<AtomicBool>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || {
        priority::lower();
        let mut indexer = Indexer { indexing, published, is_closing, left_alone: Vec::new() };
        let mut wait = Duration::ZERO;
        while closing.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = INTERVAL;
            indexer.index_all();
        }
    };
    std::thread::Builder::new().name("spanwise-index".into()).spawn(run)
}

struct Indexer {
    indexing: Indexing,
    published: Arc<Published>,
    is_closing: Arc<AtomicBool>,
    /// Segments that could not be indexed, and since when: the others do not wait for them.
    left_alone: Vec<(Weak<Segment>, Instant)>,
}

impl Indexer {
    /// Indexes every segment that waits for it, those with the newest traces first.
    fn index_all(&mut self) {
        self.left_alone.retain(|(_, since)| since.elapsed() < RETRY);
        while let Some(segment) = self.next() {
            let is_done = || self.is_closing.load(Ordering::Relaxed) || !is_part(&self.published, &segment);
            // A thread that has died would fail the closing of the store.
            let index = || segment.make_indexes(&self.indexing, &is_done);
            let outcome = catch_unwind(AssertUnwindSafe(index));
            match outcome.unwrap_or_else(|_| Err(Error::storage("segments", "indexing panicked"))) {
                Ok(()) if self.left_alone.is_empty() => self.published.indexing_error.store(None),
                Ok(()) => {}
                Err(Error::Cancelled) => return,
                Err(error) => {
                    self.published.indexing_error.store(Some(Arc::new(error.to_string())));
                    self.left_alone.push((Arc::downgrade(&segment), Instant::now()));
                }
            }
        }
    }

    fn next(&self) -> Option<Arc<Segment>> {
        let is_left_alone = |segment: &Arc<Segment>| {
            self.left_alone.iter().any(|(own, _)| std::ptr::eq(own.as_ptr(), Arc::as_ptr(segment)))
        };
        let snapshot = self.published.snapshot.load();
        let parts = snapshot.parts().iter().filter_map(|part| part.segment());
        let waiting = parts.filter(|segment| {
            segment.awaits(&self.indexing.kinds) && segment.count() > 0 && !is_left_alone(segment)
        });
        waiting.max_by_key(|segment| segment.start_time(0)).cloned()
    }
}

fn is_part(published: &Published, segment: &Arc<Segment>) -> bool {
    let snapshot = published.snapshot.load();
    snapshot.parts().iter().filter_map(|part| part.segment()).any(|own| Arc::ptr_eq(own, segment))
}
