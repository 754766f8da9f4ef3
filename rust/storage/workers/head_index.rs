//! The head indexing thread: indexes settled rows of the head before they are flushed.
//!
//! The committer replaces the rows by the indexed batch
//! ([`crate::storage::state::command::Command::HeadIndexed`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};

use crate::error::Error;
use crate::priority;
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::options::Indexing;
use crate::storage::state::command::{Command, HeadIndexer};

/// Rows of the head to index, with distinct traces.
pub(crate) type HeadIndexTask = Vec<Arc<HeadEntry>>;

/// Starts the thread. It reports each task to the committer, and ends when the committer drops its end. It
/// aborts its task when `is_closing` is set.
pub(crate) fn start(
    indexing: Indexing,
    tasks: Receiver<HeadIndexTask>,
    reports: Sender<Command>,
    is_closing: Arc<AtomicBool>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || {
        priority::lower();
        for entries in tasks {
            let is_cancelled = || priority::checkpoint(&is_closing);
            let index = || HeadBatch::indexed(entries, &indexing, &is_cancelled);
            // Without a report the committer would wait forever.
            let indexed = catch_unwind(AssertUnwindSafe(index));
            let indexed = indexed.unwrap_or_else(|_| Err(Error::storage("the head", "indexing panicked")));
            let indexed = indexed.map(Arc::new);
            let report = Command::HeadIndexed { indexed, by: HeadIndexer::Thread };
            if reports.send(report).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("spanwise-head-index".into()).spawn(run)
}
