//! The flush thread: writes rotated generations of the head as segments.
//!
//! The committer commits the new segment ([`crate::storage::state::command::Command::Flushed`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};

use crate::error::Error;
use crate::priority;
use crate::storage::head::batch::{HeadBatch, HeadEntry};
use crate::storage::head::into_segment::{index_others, write_segment};
use crate::storage::objects::Objects;
use crate::storage::options::Indexing;
use crate::storage::segment::indexes::cache::IndexCache;
use crate::storage::state::command::{Command, HeadIndexer};

/// A generation to flush.
pub(crate) struct FlushTask {
    /// The rows of its segment.
    pub(crate) entries: Arc<[Arc<HeadEntry>]>,
    /// The batches of these rows that have indexes.
    pub(crate) indexed: Vec<Arc<HeadBatch>>,
    /// True if documents are stored uncompressed, to be compressed and indexed later. Otherwise the indexes
    /// are built before the segment becomes live.
    pub(crate) defer_compression: bool,
}

/// Starts the flush thread. It reports each task to the committer, and ends when the committer drops its end.
pub(crate) fn start(
    (objects, cache, indexing): (Arc<dyn Objects>, IndexCache, Indexing),
    tasks: Receiver<FlushTask>,
    reports: Sender<Command>,
) -> std::io::Result<JoinHandle<()>> {
    let run = move || {
        priority::lower();
        for FlushTask { entries, mut indexed, defer_compression } in tasks {
            // Without a report the committer would wait forever.
            let flushed = catch_unwind(AssertUnwindSafe(|| {
                let is_indexed = !defer_compression;
                if is_indexed && let Some(others) = index_others(&entries, &indexed, &indexing) {
                    // Searches can use the indexes before the segment is written.
                    let report = Command::HeadIndexed { indexed: Ok(others.clone()), by: HeadIndexer::Flush };
                    let _committer_has_ended = reports.send(report);
                    indexed.push(others);
                }
                let indexes = is_indexed.then_some((indexed.as_slice(), &indexing));
                write_segment((objects.as_ref(), &cache), &entries, indexes, defer_compression)
            }));
            let flushed = flushed.unwrap_or_else(|_| Err(Error::storage("segments", "the flush panicked")));
            if reports.send(Command::Flushed(flushed)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("spanwise-flush".into()).spawn(run)
}
