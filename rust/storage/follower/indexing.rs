//! The indexing thread of a reader: opens the indexes of documents that the writer has made, and makes what it lacks.
//!
//! A reader that only reads the writer's cache opens what appears there. Any other one copies the objects that the writer
//! made, or makes the indexes in its own cache.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::snapshot::published::Published;
use crate::storage::workers::index::{self, IndexMaker};

/// How often the store is looked for that a reader waits for, and the writer's cache is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// What the indexing thread of a reader works on.
pub(super) struct ReaderIndexing {
    /// The store, once somebody has created it.
    pub(super) objects: Arc<OnceLock<Arc<dyn Objects>>>,
    pub(super) options: Options,
    pub(super) published: Arc<Published>,
}

impl ReaderIndexing {
    /// Starts the thread. It ends when the other end of `closing` is dropped; once `is_closing` is set it abandons what it
    /// makes.
    ///
    /// # Errors
    /// The operating system starts no more threads.
    pub(super) fn start(
        self,
        closing: Receiver<()>,
        is_closing: Arc<AtomicBool>,
    ) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new()
            .name("spanwise-index".into())
            .spawn(move || self.run(&closing, is_closing))
    }

    fn run(self, closing: &Receiver<()>, is_closing: Arc<AtomicBool>) {
        let is_open = || closing.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout);
        let objects = loop {
            match self.objects.get() {
                Some(objects) => break objects.clone(),
                None if is_open() => {}
                None => return,
            }
        };
        let (indexing, published) = (self.options.indexing(), self.published);
        if !self.options.is_cache_foreign {
            return index::run(
                IndexMaker { objects, indexing, published, commands: None },
                closing,
                is_closing,
            );
        }
        while is_open() {
            for (segment, _) in published.snapshot.load_full().segments() {
                // Of a cache that another process owns nothing can fail: what is not there is looked for again.
                let _opened = segment.open_indexes(objects.as_ref(), &indexing.kinds);
            }
        }
    }
}
