//! The indexing thread of a follower: opens the document indexes of the writer, and builds missing ones.
//!
//! A follower with read-only access to the writer's cache opens the files that appear there. Any other
//! follower copies the writer's index objects, or builds the indexes in its own cache.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::snapshot::published::Published;
use crate::storage::workers::index::{self, IndexMaker};

/// The interval between two checks for a missing store or for new files in the writer's cache.
const INTERVAL: Duration = Duration::from_secs(1);

/// The data of the indexing thread.
pub(super) struct ReaderIndexing {
    /// The store, which is set after its creation.
    pub(super) objects: Arc<OnceLock<Arc<dyn Objects>>>,
    pub(super) options: Options,
    pub(super) published: Arc<Published>,
}

impl ReaderIndexing {
    /// Starts the thread. It ends when the other end of `closing` is dropped. It aborts its current index
    /// when `is_closing` is set.
    ///
    /// # Errors
    /// The error of the operating system if no thread can be started.
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
                // Opening files of another process's cache cannot fail. Missing files are looked up again
                // later.
                let _opened = segment.open_indexes(objects.as_ref(), &indexing.kinds);
            }
        }
    }
}
